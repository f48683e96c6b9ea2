"""`toolwright tools` and `toolwright check`."""

import json as json_text
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import anyio
from cyclopts import Parameter

from toolwright.agent import Agent, Runner
from toolwright.cli import _exit as exits
from toolwright.cli._by_hand import call_tool
from toolwright.cli._check import Finding, check_tools, token_cost
from toolwright.cli._options import USER, AgentOption, JsonOption
from toolwright.cli._out import say, say_line
from toolwright.cli._policy import LOCK_FILE, moved
from toolwright.cli._prompt_prefix import check_prefix
from toolwright.cli._rule_of_two import check_rule_of_two
from toolwright.cli._target import open_tools, read_tools
from toolwright.cli._tools import (
    agents_of,
    all_tools,
    all_warnings,
    find_tool,
    listed_tools,
    parse_pairs,
)
from toolwright.errors import UsageError

__all__ = ["check", "tools_call", "tools_list", "tools_show"]

Yes = Annotated[
    bool, Parameter(name=["--yes", "-y"], negative=(), help="Approve the call beforehand.")
]


LockedFile = Annotated[
    Path | None,
    Parameter(name="--file", help=f"The lock file, with --locked; {LOCK_FILE} if not given."),
]
Locked = Annotated[
    bool,
    Parameter(
        name="--locked", negative=(), help="Fail when a tool is not as `lock` wrote it down."
    ),
]


def tools_list(agent: AgentOption = None, *, json: JsonOption = False) -> int:
    """List the agent's tools and what their definitions cost."""

    async def main() -> None:
        async with read_tools(agent) as runner:
            for tool in await all_tools(runner):
                row = {
                    "name": tool.name,
                    "description": tool.description,
                    "effects": tool.effects,
                    "tokens": token_cost(tool),
                }
                say_line(json_text.dumps(row) if json else _as_line(row))

    anyio.run(main)
    return exits.DONE


def _as_line(row: dict[str, Any]) -> str:
    first = (row["description"].splitlines() or [""])[0]
    return f"{row['name']:<24} {row['effects']:<12} {row['tokens']:>5} tokens  {first}"


def tools_show(name: str, /, agent: AgentOption = None) -> int:
    """Show one tool as the model is told of it."""

    async def main() -> None:
        async with read_tools(agent) as runner:
            spec = (await find_tool(runner, name)).spec
        told: dict[str, Any] = {"name": spec.name, "description": spec.description}
        told["parameters"] = spec.parameters
        if spec.examples:
            told["examples"] = spec.examples
        say(json_text.dumps(told, indent=2, ensure_ascii=False))

    anyio.run(main)
    return exits.DONE


def tools_call(name: str, /, *arguments: str, agent: AgentOption = None, yes: Yes = False) -> int:
    """Call a tool as a model would: same validation, same approvals, JSON out.

    Parameters
    ----------
    name
        The tool.
    arguments
        key=value words; a value that reads as JSON is taken as JSON.
    """

    async def main() -> int:
        async with open_tools(agent) as runner:
            return await call_tool(runner, name, parse_pairs(arguments), approve=yes)

    return anyio.run(main)


def check(
    agent: AgentOption = None,
    *,
    locked: Locked = False,
    file: LockedFile = None,
    json: JsonOption = False,
) -> int:
    """Look for what makes tools hard to use: vague descriptions, name clashes, odd schemas, cost.

    Of a workflow, the tools of the agents that are its steps are looked at.
    Rules with names that nothing has are errors, of all agents that it can reach.
    And for what would break a provider's prompt cache: definitions that differ from turn to turn;
    and for untrusted input, private data and a way out with nobody who is asked.
    """
    if file is not None and not locked:
        raise UsageError("--file names the lock file of --locked: add --locked.")
    lock_file = file or Path(LOCK_FILE)

    async def main() -> int:
        async with read_tools(agent) as runner:
            agents = agents_of(runner.agent)
            checked = [await _look_at(runner, one) for one in agents]
            misspelt = await _rules(runner)
            changes = await moved(runner, lock_file) if locked else []
        findings = [
            *misspelt,
            *(finding for one in checked for finding in one.findings),
            *(Finding(level="error", tool=str(lock_file), message=line) for line in changes),
        ]
        for found in findings:
            row = {"level": found.level, "tool": found.tool, "message": found.message}
            text = f"{found.level}: {found.tool}: {found.message}"
            say_line(json_text.dumps(row) if json else text)
        if not json:
            say(", ".join([*(one.cost for one in checked), f"{len(findings)} findings"]))
        return exits.FAILED if any(f.level == "error" for f in findings) else exits.DONE

    return anyio.run(main)


@dataclass(frozen=True, slots=True)
class _Checked:
    """What there is to say of one agent's tools."""

    cost: str
    findings: list[Finding]


async def _look_at(runner: Runner, agent: Agent) -> _Checked:
    """Check an agent's tools; where it is a step of a workflow, they are told by its name too."""
    tools = await listed_tools(agent)
    prefix = check_prefix(agent, tools, await listed_tools(agent))
    warnings = [
        Finding(level="warning", tool=name, message=text)
        for name, text in await all_warnings(agent)
    ]
    of_two = await check_rule_of_two(runner, agent, tools)
    findings = [*check_tools(tools), *prefix, *warnings]
    total = sum(token_cost(tool) for tool in tools)
    cost = f"{len(tools)} tools, about {total} tokens in every request"
    if agent is runner.agent:
        return _Checked(cost, [*findings, *of_two])
    named = [replace(found, tool=f"{agent.name}/{found.tool}") for found in findings]
    return _Checked(f"{agent.name}: {cost}", [*named, *of_two])


async def _rules(runner: Runner) -> list[Finding]:
    """What is wrong with the names in rules, or could not be checked."""
    try:
        unchecked = await runner.check_rules(user_id=USER)
    except UsageError as error:
        return [Finding(level="error", tool="rules", message=str(error))]
    return [Finding(level="warning", tool="rules", message=text) for text in unchecked]
