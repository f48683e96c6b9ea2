"""Functions that may watch, change or answer what an agent does."""

import inspect
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Protocol, TypeVar

from toolwright._sealed import sealed
from toolwright._settings import explain
from toolwright.concurrency import call_user
from toolwright.errors import ArgumentError, SettingError, UsageError
from toolwright.messages import ModelMessage, ToolCall
from toolwright.models import ModelRequest
from toolwright.tools import (
    Args,
    Exact,
    NodeInfo,
    Output,
    RunInside,
    State,
    Tool,
    ToolContext,
    copied,
    digest_of_arguments,
    to_output,
    writable,
)

__all__ = ["NO_HOOKS", "Hooks", "call_hook", "run_hooked"]

T = TypeVar("T")
Maybe = T | None | Awaitable[T | None]


@sealed
@dataclass(frozen=True, kw_only=True)
class Hooks:
    """Each is optional, async or plain (then it runs in a thread). Returning None changes nothing.

    An agent's hooks around models and tools see what its helpers do as well, to any depth; those
    around the agent are for its own conversation.
    All get a full context: they may write state, use credentials, artifacts and memory. Only
    `before_tool` can pause the run.
    The methods of a subclass are hooks as well, each in the place of the setting of its name.
    """

    before_agent: Callable[[ToolContext], Maybe[str]] | None = None
    """A text answers in the agent's place."""
    after_agent: Callable[[ToolContext, str], Maybe[str]] | None = None
    """A text replaces the final one."""
    before_model: (
        Callable[[ToolContext, ModelRequest], Maybe[ModelRequest | ModelMessage]] | None
    ) = None
    """A request is sent instead; a message answers in the model's place."""
    after_model: Callable[[ToolContext, ModelMessage], Maybe[ModelMessage]] | None = None
    before_tool: Callable[[ToolContext, Tool, Args], Any] | None = None
    """A dict of the same parameters changes the arguments, which are validated again and seen by
    policies and whoever approves; an `Output` answers in the tool's place."""
    after_tool: Callable[[ToolContext, Tool, Args, Output], Maybe[Output]] | None = None
    """An `Output` or a text replaces the tool's. A call that waits (`output.status == "pending"`) has
    none yet: it waits on, unless the hook ends it with a status "denied" or "error"."""
    on_model_error: Callable[[ToolContext, Exception], Maybe[ModelMessage]] | None = None

    def __init_subclass__(cls) -> None:
        known = {f.name: f for f in fields(Hooks)}
        for name, value in vars(cls).items():
            hint = explain(name, known) if callable(value) and name[0] != "_" else ""
            if hint:
                raise SettingError(
                    f"{cls.__name__}.{name} is no hook and would not be called.{hint}"
                )

    def __post_init__(self) -> None:
        for f in fields(Hooks):
            if getattr(self, f.name) is None:  # which would cover a method of a subclass
                object.__setattr__(self, f.name, _method(self, f.name))
            if (hook := getattr(self, f.name)) is not None:
                _check_parameters(f.name, hook)


_GIVEN = {
    "before_agent": ("ctx",),
    "after_agent": ("ctx", "text"),
    "before_model": ("ctx", "request"),
    "after_model": ("ctx", "message"),
    "before_tool": ("ctx", "tool", "args"),
    "after_tool": ("ctx", "tool", "args", "output"),
    "on_model_error": ("ctx", "error"),
}
"""What each is called with, by position."""
_CONTEXTS = ("tool_context", "callback_context")


def _check_parameters(name: str, hook: Any) -> None:
    """Refuse a function that could not be called, or would take one thing for another."""
    called = f"it is called as {name}({', '.join(_GIVEN[name])})"
    try:
        signature = inspect.signature(hook)
        signature.bind(*_GIVEN[name])
    except ValueError:  # written in C, without a signature
        return
    except TypeError as error:
        raise SettingError(f"{hook!r} cannot be the hook {name}: {error}; {called}.") from error
    if any(one in _CONTEXTS for one in list(signature.parameters)[1:]):
        raise SettingError(
            f"{hook!r} cannot be the hook {name}: the context comes first; {called}."
        )


def _method(hooks: Hooks, name: str) -> Any:
    """The method of that name in a subclass, bound; None where there is none."""
    for base in type(hooks).__mro__:
        value = vars(base).get(name)
        if value is not None and not inspect.ismemberdescriptor(value):  # the slot of a dataclass
            get = getattr(value, "__get__", None)
            return value if get is None else get(hooks, type(hooks))
    return None


NO_HOOKS = Hooks()


class HookedRun(RunInside, Protocol):
    """The run as hooks need it."""

    path: str
    node: NodeInfo | None

    def keep_state(self, state: State, path: str | None = None) -> None:
        """Record what was written to the state and is in no event yet."""
        ...


async def call_hook(run: HookedRun, name: str, hook: Callable[..., Any], *values: Any) -> Any:
    """What a hook around an agent or a model says; what it writes to the state is recorded."""
    ctx = ToolContext(
        run, ToolCall(call_id=name, name=name, arguments="{}"), run.path, node=run.node
    )
    try:
        said = await call_user(hook, ctx, *values)
    finally:
        ctx.end()
        run.keep_state(ctx.state)
    if ctx.requested is not None:
        raise UsageError(
            f"The hook {name} asked for {ctx.requested.kind}; only a tool or before_tool can "
            "pause a run."
        )
    return said


async def run_hooked(
    all_hooks: Sequence[tuple[str, Hooks]],
    tool: Tool,
    ctx: ToolContext,
    step: Callable[[], Awaitable[Output]],
    give_turn: Callable[[str], None],
) -> Output:
    """Let the tool hooks see a call, the outermost first, and what came of it, the innermost first.

    What a hook changes is in `ctx.arguments` when `step` judges the call and runs it. `give_turn`
    is told before each hook whose turn it is.
    """
    passed: list[tuple[str, Hooks, Args]] = []
    output: Output | None = None
    for place, hooks in all_hooks:
        if hooks.before_tool is not None:
            give_turn(place)
            output = await _before(hooks.before_tool, tool, ctx)
        if output is not None:
            break
        passed.append((place, hooks, ctx.arguments))
    output = output or await step()
    if ctx.requested is not None:  # Its function's words are not used: it runs again.
        output = Output(status="pending", request=ctx.requested)
    asker = ctx.asker
    for place, hooks, args in reversed(passed):
        if hooks.after_tool is not None:
            give_turn(place)
            output = await _after(hooks.after_tool, tool, ctx, args, output)
    ctx.asker = asker  # Whose question it is that is open by now, if one is.
    return output


async def _after(
    hook: Callable[..., Any], tool: Tool, ctx: ToolContext, args: Args, output: Output
) -> Output:
    """What a hook makes of an output; `UsageError` when it asks something.

    The call is over by then: once answered, it would run a second time.
    """
    asked = ctx.requested
    said = await call_user(hook, ctx, tool, args, output)
    made = output if said is None else _in_place_of(output, to_output(said))
    request = made.request if ctx.requested is asked else ctx.requested
    if request is not None and request is not output.request:
        raise UsageError(
            f"The hook after_tool asked for {request.kind} when the call of {tool.name!r} was over: "
            f"its status was {output.status!r}, and its output is not shown. A run is paused before a "
            "tool runs, by before_tool or a rule, or by the tool itself."
        )
    if made.request is None:
        ctx.requested = None  # The hook says no: nobody is asked any more.
    return made


def _in_place_of(output: Output, other: Output) -> Output:
    """What a hook says instead; a job that goes on can still be answered, and a call that waits waits
    on: it has no result that could be replaced. A hook can only end it with a no."""
    if output.status == "pending":
        if other.status in ("denied", "error"):
            return replace(other, request=None)
        return replace(other, status="pending", request=other.request or output.request)
    goes_on = output.request is not None and not output.request.blocking
    return replace(other, request=output.request) if goes_on and other.request is None else other


async def _before(hook: Callable[..., Any], tool: Tool, ctx: ToolContext) -> Output | None:
    """What a hook answers in the tool's place; None when the call goes on."""
    offered = copied(ctx.arguments)
    said = await call_user(hook, ctx, tool, offered)
    if ctx.requested is not None:
        return Output(status="pending", request=ctx.requested)
    if said is None and offered != ctx.arguments and _differ(offered, ctx.arguments):
        said = offered  # It changed them in place.
    if isinstance(said, dict):
        ctx.arguments = _validated(tool, said, ctx.arguments)
        return None
    return None if said is None else to_output(said)


def _differ(one: Args, other: Args) -> bool:
    return one.keys() != other.keys() or any(not _is_kept(one[name], other[name]) for name in one)


def _is_kept(one: Any, other: Any) -> bool:
    """Copies of objects may be unequal and yet the same."""
    return one is other or digest_of_arguments({"": one}) == digest_of_arguments({"": other})


def _validated(tool: Tool, changed: Args, before: Args) -> Args:
    """The arguments that a hook wants; those that it has not changed are not read again."""
    unknown = sorted(changed.keys() - tool.spec.parameters.get("properties", {}).keys())
    if unknown:
        raise UsageError(
            f"before_tool returned a dict with {unknown}, which are no parameters of {tool.name!r}; "
            "to answer in its place, return an Output or a text."
        )
    kept = {n: before[n] for n in changed if n in before and _is_kept(changed[n], before[n])}
    wanted: dict[str, Any] = {}
    for name, value in changed.items():
        try:
            wanted.update(writable({name: value}))
        except ArgumentError:
            if name not in kept:
                raise
    made = {**tool.parse(json.dumps(wanted)), **kept}
    if Exact(made).secrets < Exact(changed).secrets:
        raise UsageError(
            f"before_tool changed an argument of {tool.name!r} whose type does not say what in it is "
            "secret, so that it would be shown; give the parameter a type with SecretStr."
        )
    return made
