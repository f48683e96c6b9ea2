"""A tool's own wish to be confirmed: always, by its arguments, or by a policy."""

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from toolwright.concurrency import call_user
from toolwright.errors import UsageError
from toolwright.messages import ServerTool
from toolwright.tools._arguments import Args
from toolwright.tools._context import ToolContext
from toolwright.tools._copies import lent
from toolwright.tools._decision import Decision
from toolwright.tools._predicates import refuse_always_true, refuse_no_answer
from toolwright.tools._tool import Tool

__all__ = [
    "Careful",
    "Policy",
    "PolicyWish",
    "Require",
    "by_argument_names",
    "decide",
    "with_approval",
    "with_confirmation",
]

Require = bool | Callable[..., bool | Awaitable[bool]]
"""Whether a call must be confirmed: always, or when a predicate over its arguments says so."""

Policy = Callable[[Tool, Args, ToolContext], Decision | Awaitable[Decision]]
"""Sees the tool and a copy of its validated arguments before it runs; a plain function does so in a
thread."""


class Careful:
    """A policy that leaves arguments alone, and gives copies of them to the functions that it asks."""

    __slots__ = ()


async def decide(policy: Policy, tool: Tool, args: Args, ctx: ToolContext) -> Decision:
    """What `policy` says of a call; `UsageError` when that is no decision, so the call never runs."""
    if isinstance(policy, Careful):
        said = await _said(policy, tool, args, ctx)
    else:
        with lent(args, ctx) as seen:
            said = await _said(policy, tool, seen, ctx)
    if not isinstance(said, Decision):
        raise UsageError(
            f"A policy returns a Decision, such as Decision(verdict='ask'); got {said!r}."
        )
    return said


async def _said(policy: Policy, tool: Tool, args: Args, ctx: ToolContext) -> Any:
    if inspect.isroutine(policy) and not inspect.iscoroutinefunction(policy):
        return await call_user(policy, tool, args, ctx)
    said = policy(tool, args, ctx)
    return await said if inspect.isawaitable(said) else said


def with_approval(tool: Tool, policy: Policy) -> Tool:
    """Let `policy` see the validated arguments before the tool runs.

    It is asked about the tool as it is here, whatever name the tool is given later.
    """

    _refuse_others(tool, "with_approval")
    return tool.replace(confirm=(*tool.confirm, PolicyWish(policy, tool)))


def _refuse_others(tool: Any, what: str) -> None:
    if isinstance(tool, Tool):
        return
    if isinstance(tool, ServerTool):
        raise UsageError(
            f"{what} takes a tool that is called here; got {tool.name!r}, which the model's provider "
            "runs, so that nobody can be asked about a call. Rules decide whether it is offered at all: "
            f"Rule.deny({tool.name!r}) in the agent's policy."
        )
    raise UsageError(f"{what} takes a tool, such as FunctionTool(…) or one of @tool; got {tool!r}.")


@dataclass(frozen=True, slots=True, eq=False)
class PolicyWish:
    """A wish to be judged by a policy."""

    policy: Policy
    tool: Tool
    """The tool as it was when the policy was put around it."""

    async def __call__(self, args: Args, ctx: ToolContext) -> Decision:
        """What the policy says."""
        return await decide(self.policy, self.tool, args, ctx)


def with_confirmation(tool: Tool, require: Require) -> Tool:
    """Ask a person before the tool runs, when `require` is or says true for the arguments."""
    _refuse_others(tool, "with_confirmation")
    if require is False:
        return tool
    needed = None if require is True else by_argument_names(require)
    rule = f"require_confirmation of tool {tool.name!r}"
    ask, allow = Decision(verdict="ask", rule=rule), Decision(verdict="allow", rule=rule)

    async def wish(args: Args, ctx: ToolContext) -> Decision:
        return ask if needed is None or await needed(args, ctx) else allow

    return tool.replace(confirm=(*tool.confirm, wish))


def by_argument_names(
    predicate: Callable[..., Any], *, unknown: bool = True
) -> Callable[[Args, ToolContext], Awaitable[bool]]:
    """Call `predicate` with the arguments it names, and the context if it wants one.

    `unknown` is the answer when the call leaves one of them to its default.
    """
    if not callable(predicate):
        raise UsageError(f"This is decided by True, False or a function; got {predicate!r}.")
    refuse_always_true(predicate, "What decides about calls")
    parameters = inspect.signature(predicate).parameters.values()
    takes_all = any(p.kind is p.VAR_KEYWORD for p in parameters)
    names = {p.name for p in parameters}
    required = {p.name for p in parameters if p.default is p.empty and p.kind is not p.VAR_KEYWORD}

    async def needed(args: Args, ctx: ToolContext) -> bool:
        with lent(args, ctx) as seen:
            offered = {**seen, "tool_context": ctx} if "tool_context" in names else seen
            given = {k: v for k, v in offered.items() if takes_all or k in names}
            if required - given.keys():
                return unknown
            said = await call_user(predicate, **given)
            refuse_no_answer(said, predicate)
            return bool(said)

    return needed
