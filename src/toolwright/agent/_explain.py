"""Say which rule decides about a call, and why, without running it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from toolwright.agent._chat import ChatNode
from toolwright.agent._gate import decisions
from toolwright.agent._inside import begin_inside
from toolwright.agent._log import full_id
from toolwright.agent._node import AgentNode
from toolwright.agent._run import Run
from toolwright.agent._server_tools import decisions_about
from toolwright.agent._start import Start, carry_on
from toolwright.agent._toolbox import Toolbox
from toolwright.errors import ToolError
from toolwright.messages import ToolCall
from toolwright.tools import Args, Decision, Tool, ToolContext, Verdict, stricter, writable

__all__ = ["Explanation", "explain"]

_NOT_OFFERED = (
    "The model's provider makes its calls, so nobody can be asked about one: it is not offered."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """What the rules say of one call."""

    tool: str
    arguments: Args
    verdict: Verdict
    decided: Decision | None
    """The strictest decision; None when nobody has a rule about it."""
    decisions: tuple[Decision, ...]
    """What everybody on the path says, from the outermost to the tool itself."""


async def explain(
    agent: AgentNode, start: Start, call: str, arguments: Mapping[str, Any]
) -> Explanation:
    """Judge a call as a run of `agent` would; `ToolError` when there is no such tool.

    Models that review calls are not asked.

    Args:
        agent: The agent that everything begins with.
        start: What its run is given.
        call: A tool's name; for a call of another agent, the agents on the way to it and the
            tool, `helper/pay`.
        arguments: Those of the call.
    """
    *way, name = call.split("/")
    run = carry_on(agent, start).run
    for step in way:
        run = await _enter(run, step)
    for theirs in run.agent.server_tools():
        if theirs.name == name:
            return _explained(name, {}, [_offered(d) for d in await decisions_about(run, theirs)])
    tool = await _tool(run, name)
    made = ToolCall(call_id="explain", name=name, arguments=json.dumps(writable(arguments)))
    ctx = ToolContext(run, made)
    ctx.arguments = tool.parse(made.arguments)
    return _explained(tool.name, ctx.arguments, await decisions(run, tool, ctx))


def _offered(decision: Decision) -> Decision:
    """What it comes to for a tool of the provider, which is offered or not."""
    if decision.verdict != "ask":
        return decision
    reason = f"{decision.reason} {_NOT_OFFERED}".strip()
    return replace(decision, verdict="deny", reason=reason)


def _explained(name: str, arguments: Args, found: Sequence[Decision]) -> Explanation:
    decided: Decision | None = None
    for decision in found:
        decided = stricter(decided, decision)
    return Explanation(
        tool=name,
        arguments=arguments,
        verdict="allow" if decided is None else decided.verdict,
        decided=decided,
        decisions=tuple(found),
    )


async def _tool(run: Run, name: str) -> Tool:
    if isinstance(run.agent, ChatNode):
        box = await run.list_tools()
        if name not in box.tools:
            box = replace(box, tools={**await _behind(run), **box.tools})
    else:  # a workflow, whose nodes may be tools
        tools, _ = run.agent.own_tools()
        box = Toolbox({tool.name: tool for tool in tools}, tuple(tool.spec for tool in tools))
    try:
        return box.find(name, run.readonly)
    except ToolError as error:
        if not (inner := await _helpers(run)):
            raise
        raise ToolError(
            f"{error} For a call of another agent write the agents on the way, "
            f"'{next(iter(inner))}/{name}'; {run.agent.name!r} has: {', '.join(inner)}."
        ) from None


async def _behind(run: Run) -> dict[str, Tool]:
    """The tools that are called by code, or found by a search, and are judged like others."""
    found: dict[str, Tool] = {}
    for toolset in run.agent.own_tools()[1]:
        found |= {tool.name: tool for tool in await toolset.all_tools(run.readonly) or ()}
    return found


async def _enter(run: Run, name: str) -> Run:
    """The run of a helper inside `run`."""
    inner = await _helpers(run)
    if name not in inner:
        known = ", ".join(inner) or "none"
        raise ToolError(f"{run.agent.name!r} has no agent {name!r} below it; there are: {known}.")
    agent = inner[name]
    if agent.parent is run.agent and isinstance(run.agent, ChatNode):
        run.take_over(cast(ChatNode, agent))
        return run
    return begin_inside(run, agent, full_id(run.path, "explain"))


async def _helpers(run: Run) -> dict[str, AgentNode]:
    """The agents that `run` can hand something to: those below it, and those inside its tools."""
    tools, _ = run.agent.own_tools()
    if isinstance(run.agent, ChatNode):
        tools = list((await run.list_tools()).tools.values())
    return {agent.name: agent for agent in run.agent.helpers(tools)}
