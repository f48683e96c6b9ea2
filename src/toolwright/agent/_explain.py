"""Say which rule decides about a call, and why, without running it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from toolwright.agent._gate import decisions
from toolwright.agent._node import AgentNode
from toolwright.agent._start import Start, carry_on
from toolwright.messages import ToolCall, jsonable
from toolwright.tools import Args, Decision, ToolContext, Verdict, stricter

__all__ = ["Explanation", "explain"]


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
    agent: AgentNode, start: Start, name: str, arguments: Mapping[str, Any]
) -> Explanation:
    """Judge a call of `agent` as a run would; `ToolError` when it has no such tool.

    Models that review calls are not asked.
    """
    run = carry_on(agent, start).run
    box = await run.list_tools()
    call = ToolCall(call_id="explain", name=name, arguments=json.dumps(jsonable(dict(arguments))))
    ctx = ToolContext(run, call)
    tool = box.find(name, ctx)
    ctx.arguments = tool.parse(call.arguments)
    found = await decisions(run, tool, ctx)
    decided: Decision | None = None
    for decision in found:
        decided = stricter(decided, decision)
    return Explanation(
        tool=tool.name,
        arguments=ctx.arguments,
        verdict="allow" if decided is None else decided.verdict,
        decided=decided,
        decisions=tuple(found),
    )
