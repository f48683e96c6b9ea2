"""Offer a model only those tools of its provider that every rule on the path allows."""

import logging
from dataclasses import replace
from functools import reduce

from toolwright._message_of import named_message_of
from toolwright.agent._gate import standing_decisions
from toolwright.agent._rule_names import stand_in
from toolwright.agent._run import Run
from toolwright.messages import ServerTool, ToolCall
from toolwright.models import ModelRequest
from toolwright.tools import Decision, ToolContext, stricter

__all__ = ["decisions_about", "with_allowed_server_tools"]

_ALLOWED = Decision(verdict="allow")
logger = logging.getLogger("toolwright")
_LEFT_OUT = (
    "The provider's tool %r is not offered to agent %r: %s. Its calls are made by the provider, so that "
    "nobody can be asked about one; to offer it, allow it by its name (Rule.allow(%r))."
)


async def with_allowed_server_tools(run: Run, request: ModelRequest) -> ModelRequest:
    """The request without the provider's tools that a rule denies or asks about.

    Their calls are never seen before they have run: what is decided is whether they are offered.
    """
    allowed: list[ServerTool] = []
    for tool in request.server_tools:
        said = reduce(stricter, await decisions_about(run, tool), _ALLOWED)
        if said.verdict == "allow":
            allowed.append(tool)
            continue
        level = logging.WARNING if run.turn <= 1 else logging.DEBUG
        why = f"{said.rule}: {said.verdict}" + (f" ({said.reason})" if said.reason else "")
        logger.log(level, _LEFT_OUT, tool.name, run.agent.name, run.redactor(why), tool.name)
    return replace(request, server_tools=tuple(allowed))


async def decisions_about(run: Run, tool: ServerTool) -> list[Decision]:
    """What everybody on the path says of a tool of the provider."""
    ctx = ToolContext(run, ToolCall(call_id=tool.name, name=tool.name), run.path, node=run.node)
    try:
        return await standing_decisions(run, stand_in(tool), ctx)
    except Exception as error:  # noqa: BLE001 - a policy that cannot say without arguments: no yes
        return [Decision(verdict="deny", rule="a policy raised", reason=named_message_of(error))]
    finally:
        ctx.end()
