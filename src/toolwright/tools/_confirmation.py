"""Ask before a tool runs: by rule, by predicate, or always."""

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Literal

from toolwright.errors import UsageError
from toolwright.messages import PendingRequest
from toolwright.tools._arguments import Args
from toolwright.tools._context import ToolContext
from toolwright.tools._state import RESERVED
from toolwright.tools._tool import Output, Tool

__all__ = [
    "Decision",
    "Policy",
    "Require",
    "by_argument_names",
    "remembered_key",
    "with_approval",
    "with_confirmation",
]

Require = bool | Callable[..., bool | Awaitable[bool]]
"""Whether a call must be confirmed: always, or when a predicate over its arguments says so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What a policy says of one call."""

    verdict: Literal["allow", "ask", "deny"]
    reason: str = ""
    payload: Any = None


Policy = Callable[[Tool, Args, ToolContext], Awaitable[Decision]]
"""Sees the tool and its validated arguments before it runs."""


def remembered_key(tool: str) -> str:
    """The state key that says a person has approved this tool for the rest of the session."""
    return f"{RESERVED}{tool}"


def with_approval(tool: Tool, policy: Policy) -> Tool:
    """Let `policy` see the validated arguments before the tool runs."""

    async def run(args: Args, ctx: ToolContext) -> Output:
        decision = await policy(tool, args, ctx)
        # Looked at before the approval: a person may have changed the arguments to denied ones.
        if decision.verdict == "deny":
            return Output(text=f"Denied: {decision.reason or 'not allowed here'}", status="denied")
        if decision.verdict == "ask" and not _is_approved(tool, ctx):
            hint = decision.reason or f"Allow {tool.name!r} with these arguments?"
            request = PendingRequest(kind="confirmation", hint=hint, payload=decision.payload)
            return Output(status="pending", request=request)
        return await tool.run(args, ctx)

    return tool.replace(run=run)


def _is_approved(tool: Tool, ctx: ToolContext) -> bool:
    if ctx.tool_confirmation is not None:
        return True
    return bool(ctx.run.table.values.get(remembered_key(tool.name)))


def with_confirmation(tool: Tool, require: Require) -> Tool:
    """Ask a person before the tool runs, when `require` is or says true for the arguments."""
    if require is False:
        return tool
    needed = _always if require is True else by_argument_names(require)

    async def policy(tool: Tool, args: Args, ctx: ToolContext) -> Decision:
        if not await needed(args, ctx):
            return Decision(verdict="allow")
        return Decision(verdict="ask")

    return with_approval(tool, policy)


async def _always(args: Args, ctx: ToolContext) -> bool:
    return True


def by_argument_names(
    predicate: Callable[..., Any], *, unknown: bool = True
) -> Callable[[Args, ToolContext], Awaitable[bool]]:
    """Call `predicate` with the arguments it names, and the context if it wants one.

    `unknown` is the answer when the call leaves one of them to its default.
    """
    if not callable(predicate):
        raise UsageError(f"This is decided by True, False or a function; got {predicate!r}.")
    parameters = inspect.signature(predicate).parameters.values()
    takes_all = any(p.kind is p.VAR_KEYWORD for p in parameters)
    names = {p.name for p in parameters}
    required = {p.name for p in parameters if p.default is p.empty and p.kind is not p.VAR_KEYWORD}

    async def needed(args: Args, ctx: ToolContext) -> bool:
        offered = {**args, "tool_context": ctx} if "tool_context" in names else args
        given = {k: v for k, v in offered.items() if takes_all or k in names}
        if required - given.keys():
            return unknown
        answer = predicate(**given)
        return bool(await answer) if inspect.isawaitable(answer) else bool(answer)

    return needed
