"""Tools made from Python functions: sync, async, or generators that show progress."""

import functools
import inspect
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import aclosing
from typing import Any, overload

import anyio.to_thread

from toolwright.errors import UsageError
from toolwright.messages import Effects, ToolSpec
from toolwright.tools._arguments import Args, args_parser
from toolwright.tools._confirmation import Require, with_confirmation
from toolwright.tools._context import ToolContext
from toolwright.tools._output import to_output
from toolwright.tools._signature import Signature, read_signature
from toolwright.tools._tool import Handler, IsEnabled, MaxOutput, OnUnknown, Output, Tool
from toolwright.tools._wrappers import with_retries, with_timeout

__all__ = ["FunctionTool", "function_tool", "tool"]


class FunctionTool(Tool):
    """A tool that calls a Python function. All inspection happens here, none at call time."""

    def __init__(
        self,
        func: Callable[..., Any],
        *,
        require_confirmation: Require = False,
        name: str | None = None,
        description: str | None = None,
        is_enabled: IsEnabled | None = None,
        sequential: bool = False,
        timeout: float | None = None,
        retries: int = 0,
        max_output: MaxOutput | None = None,
        effects: Effects = "write",
        idempotent: bool = False,
        on_unknown: OnUnknown = "tell",
        tags: Sequence[str] = (),
        hidden: Sequence[str] = (),
    ) -> None:
        signature = read_signature(func, hidden)
        if name is None and signature.name == "<lambda>":
            raise UsageError("A lambda has no name that a model could call; give it one: name=….")
        spec = ToolSpec(
            name=name or signature.name,
            description=description or signature.description,
            parameters=signature.parameters,
            tags=tuple(tags),
        )
        made = Tool(
            spec=spec,
            parse=args_parser(spec.name, signature.validator, signature.names),
            run=_handler(func, signature),
            sequential=sequential,
            effects=effects,
            idempotent=idempotent,
            on_unknown=on_unknown,
            is_enabled=is_enabled,
            max_output=max_output or MaxOutput(),
        )
        made = with_timeout(made, timeout) if timeout is not None else made
        made = with_retries(made, retries) if retries else made
        made = with_confirmation(made, require_confirmation) if require_confirmation else made
        self._become(made)
        self.func = func


def _handler(func: Callable[..., Any], signature: Signature) -> Handler:
    """The way to call `func`, chosen once by what kind of function it is."""
    call = _call_method(func)
    if inspect.isasyncgenfunction(call):
        return _async_generator(func, signature)
    if inspect.isgeneratorfunction(call):
        return _generator(func, signature)
    if inspect.iscoroutinefunction(call):
        return _coroutine(func, signature)
    return _thread(func, signature)


def _call_method(func: Any) -> Any:
    while isinstance(func, functools.partial):
        func = func.func
    return func if inspect.isroutine(func) or inspect.isclass(func) else type(func).__call__


def _fill(signature: Signature, args: Args, ctx: ToolContext) -> Args:
    """The function's keyword arguments: the model's and the injected ones."""
    return {**args, **dict.fromkeys(signature.injected, ctx)} if signature.injected else args


def _coroutine(func: Callable[..., Any], signature: Signature) -> Handler:
    async def run(args: Args, ctx: ToolContext) -> Output:
        return to_output(await func(**_fill(signature, args, ctx)))

    return run


def _thread(func: Callable[..., Any], signature: Signature) -> Handler:
    async def run(args: Args, ctx: ToolContext) -> Output:
        call = functools.partial(func, **_fill(signature, args, ctx))
        # Abandoned on cancel: Python cannot stop a thread, but nobody has to wait for it.
        value = await anyio.to_thread.run_sync(call, abandon_on_cancel=True)
        if inspect.isawaitable(value):
            value = await value
        return to_output(value)

    return run


def _generator(func: Callable[..., Any], signature: Signature) -> Handler:
    async def run(args: Args, ctx: ToolContext) -> Output:
        over = threading.Event()
        drain = functools.partial(_drain, func(**_fill(signature, args, ctx)), ctx, over)
        try:
            return to_output(await anyio.to_thread.run_sync(drain, abandon_on_cancel=True))
        finally:
            over.set()

    return run


def _drain(generator: Generator[Any, None, Any], ctx: ToolContext, over: threading.Event) -> Any:
    """Show each item; what the generator returns, or else its last item. Ends when `over` is set."""
    last: Any = None
    try:
        while not over.is_set():
            last = next(generator)
            _show(ctx, last)
    except StopIteration as stop:
        return last if stop.value is None else stop.value
    finally:
        generator.close()
    return last


def _async_generator(func: Callable[..., Any], signature: Signature) -> Handler:
    async def run(args: Args, ctx: ToolContext) -> Output:
        last: Any = None
        async with aclosing(func(**_fill(signature, args, ctx))) as generator:
            async for item in generator:
                last = item
                _show(ctx, item)
        return to_output(last)

    return run


def _show(ctx: ToolContext, item: Any) -> None:
    output = to_output(item)
    ctx.progress(output.text, output.data)


@overload
def tool(func: Callable[..., Any], /) -> FunctionTool: ...
@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    is_enabled: IsEnabled | None = None,
    sequential: bool = False,
    timeout: float | None = None,
    retries: int = 0,
    max_output: MaxOutput | None = None,
    effects: Effects = "write",
    idempotent: bool = False,
    on_unknown: OnUnknown = "tell",
    require_confirmation: Require = False,
    tags: Sequence[str] = (),
) -> Callable[[Callable[..., Any]], FunctionTool]: ...
def tool(func: Callable[..., Any] | None = None, /, **settings: Any) -> Any:
    """Make a tool of a function: `@tool`, or `@tool(name=…, timeout=…, …)` as for `FunctionTool`."""
    if func is None:
        return lambda function: FunctionTool(function, **settings)
    if not callable(func):
        raise UsageError(f"@tool takes a function; got {func!r}. Settings are given by name.")
    return FunctionTool(func, **settings)


function_tool = tool
"""The name that users of nFactorial know it by."""
