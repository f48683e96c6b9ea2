"""`toolwright tools`: list, show and call tools from the shell."""

import json
import uuid
from collections.abc import Sequence
from typing import Any

from toolwright.agent import Agent, Runner
from toolwright.cli import _exit as exits
from toolwright.cli._go import choose_asker, go, named_when_interrupted
from toolwright.cli._json import read_json
from toolwright.cli._options import USER
from toolwright.cli._out import say
from toolwright.cli._show import Show, outcome
from toolwright.errors import UsageError
from toolwright.kits import hand_runner
from toolwright.messages import Event, RepeatedKeys, Scope, TextPart, ToolEnded, encode_event
from toolwright.tools import Tool, without_clashes

__all__ = [
    "HAND",
    "agents_of",
    "all_tools",
    "all_warnings",
    "call_tool",
    "find_tool",
    "listed_tools",
    "parse_pairs",
]

HAND = "hand-"
"""How the ids of sessions begin in which a person has called a tool."""


def agents_of(node: Any) -> list[Agent]:
    """The agent; of a workflow, those that are its steps, at any depth."""
    if isinstance(node, Agent):
        return [node]
    return [agent for step in node.sub_agents for agent in agents_of(step)]


async def all_tools(runner: Runner) -> list[Tool]:
    """All tools of the runner's agent, toolsets listed; `UsageError` for a rule that is misspelt."""
    agent = runner.agent
    if not isinstance(agent, Agent):
        raise UsageError(f"{agent.name!r} is a workflow; it has no tools of its own.")
    tools = await listed_tools(agent)
    await runner.check_rules(user_id=USER)
    return tools


async def listed_tools(agent: Agent) -> list[Tool]:
    """The agent's tools, whatever the rules say."""
    listed = [tool for toolset in agent.shelf.toolsets for tool in await toolset.list_tools(None)]
    return without_clashes([*agent.shelf.tools, *listed])


async def all_warnings(agent: Agent) -> list[tuple[str, str]]:
    """What the agent's toolsets say of what they read, each under the name of its kind."""
    toolsets = agent.shelf.toolsets
    return [(type(one).__name__, text) for one in toolsets for text in await one.warnings()]


async def find_tool(runner: Runner, name: str) -> Tool:
    """One tool; `UsageError` with the names when there is none."""
    tools = {tool.name: tool for tool in await all_tools(runner)}
    if name not in tools:
        raise UsageError(f"There is no tool {name!r}; tools: {', '.join(tools) or 'none'}.")
    return tools[name]


def parse_pairs(pairs: Sequence[str]) -> dict[str, Any]:
    """`key=value` words as arguments: a value is JSON if it reads as JSON, else text."""
    arguments: dict[str, Any] = {}
    for pair in pairs:
        key, found, text = pair.partition("=")
        if not found or not key:
            raise UsageError(
                f"{pair!r} is not key=value, such as path=README.md; quote a value with blanks."
            )
        if key in arguments:
            raise UsageError(f"{key!r} is given twice; give each argument once.")
        try:
            arguments[key] = read_json(text)
        except RepeatedKeys as error:
            raise UsageError(f"{key!r} has {error}; give each once.") from error
        except ValueError:
            arguments[key] = text
    return arguments


async def call_tool(
    runner: Runner, name: str, arguments: dict[str, Any], *, approve: bool = False
) -> int:
    """Call a tool the way a model would: validated, gated, bounded. Prints one JSON object."""
    await find_tool(runner, name)
    by_hand = hand_runner(runner)
    assert by_hand is not None
    ended: list[ToolEnded] = []
    session = f"{HAND}{uuid.uuid4().hex[:8]}"
    scope = Scope(app_name=by_hand.app_name, user_id=USER, session_id=session)
    prompt = f"{name} {json.dumps(arguments)}"

    async def tell_waiting() -> None:
        waiting = await by_hand.pending(session)
        waits = [{"call_id": p.call_id, "kind": p.kind, "hint": p.hint} for p in waiting]
        say(json.dumps({"status": "pending", "session": session, "pending": waits}))

    async def tell_interrupted() -> None:
        if await by_hand.pending(session):
            await tell_waiting()

    try:
        async with named_when_interrupted(tell_interrupted):
            await go(by_hand, scope, prompt, _Collect(ended), choose_asker(call=approve))
    except (KeyboardInterrupt, EOFError):
        return exits.CANCELLED
    if not ended:
        await tell_waiting()
        return exits.PAUSED
    [event] = ended
    say(json.dumps(_as_json(event), ensure_ascii=False, indent=2))
    return exits.DONE if outcome(event.result) == "ok" else exits.FAILED


class _Collect(Show):
    def __init__(self, ended: list[ToolEnded]) -> None:
        self._ended = ended

    def __call__(self, event: Event) -> None:
        if isinstance(event, ToolEnded) and not event.path:
            self._ended.append(event)


def _as_json(event: ToolEnded) -> dict[str, Any]:
    """The result's text and data; where there is more than text, all parts as the HTTP API has them."""
    result = event.result
    try:
        output: Any = read_json(result.text)
    except ValueError:
        output = result.text
    shown = {"status": outcome(result), "output": output}
    if not all(isinstance(part, TextPart) for part in result.content):
        shown["content"] = json.loads(encode_event(event))["result"]["content"]
    return shown if result.data is None else {**shown, "data": result.data}
