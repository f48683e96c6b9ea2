"""What would change the beginning of an agent's requests, and so break the provider's prompt cache."""

from collections.abc import Iterator, Sequence

from toolwright.agent import Agent
from toolwright.cli._check import Finding, token_cost
from toolwright.messages import ToolSpec
from toolwright.tools import Tool

__all__ = ["check_prefix"]

_READ_ANEW = "then the whole conversation is read without the provider's prompt cache"


def check_prefix(agent: Agent, tools: Sequence[Tool], again: Sequence[Tool]) -> list[Finding]:
    """What there is to say of an agent whose tools were listed twice."""
    found = [*_by_setting(agent, tools), *_enabled(tools), *_listed_twice(tools, again)]
    return [Finding(level="warning", tool=name, message=text) for name, text in found]


def _by_setting(agent: Agent, tools: Sequence[Tool]) -> Iterator[tuple[str, str]]:
    if not agent.settings.cache_prompt:
        yield agent.name, "cache_prompt=False: Anthropic reads all of the prompt anew on every turn"
    cost = sum(token_cost(tool) for tool in tools)
    if agent.compaction is not None and agent.compaction.max_tokens <= cost:
        yield (
            agent.name,
            (
                f"compaction begins at {agent.compaction.max_tokens} tokens, and the tools alone cost "
                f"about {cost}: it would rewrite the conversation as often as it may; raise max_tokens"
            ),
        )


def _enabled(tools: Sequence[Tool]) -> Iterator[tuple[str, str]]:
    for tool in tools:
        if tool.is_enabled is not None:
            yield (
                tool.name,
                (
                    f"is_enabled may show or hide it from turn to turn: {_READ_ANEW}; a rule that "
                    "denies the call, or an answer that says why not, leaves it where it is"
                ),
            )


def _listed_twice(tools: Sequence[Tool], again: Sequence[Tool]) -> Iterator[tuple[str, str]]:
    later = {tool.name: tool.spec for tool in again}
    for tool in tools:
        if tool.name not in later:
            yield (
                tool.name,
                f"it was there when first listed, and not the second time: {_READ_ANEW}",
            )
        elif parts := _differing(tool.spec, later[tool.name]):
            yield (
                tool.name,
                (
                    f"the {parts} it is listed with is not the same each time: {_READ_ANEW}; "
                    "leave times, counts and random ids out of it"
                ),
            )
    for name in later.keys() - {tool.name for tool in tools}:
        yield name, f"it was only there when listed a second time: {_READ_ANEW}"


def _differing(one: ToolSpec, other: ToolSpec) -> str:
    parts = {
        "description": one.description != other.description,
        "parameters": one.parameters != other.parameters,
        "examples": one.examples != other.examples,
    }
    return " and ".join(part for part, differs in parts.items() if differs)
