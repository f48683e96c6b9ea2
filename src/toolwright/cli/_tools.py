"""The tools of an agent, and their arguments as words."""

from collections.abc import Sequence
from typing import Any

from toolwright.agent import Agent, Runner
from toolwright.cli._json import read_json
from toolwright.cli._options import USER
from toolwright.errors import UsageError
from toolwright.messages import RepeatedKeys
from toolwright.tools import Tool, without_clashes

__all__ = [
    "agents_of",
    "all_tools",
    "all_warnings",
    "find_tool",
    "listed_tools",
    "parse_pairs",
]


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
