"""Tools made from Python functions: sync, async, or generators that show progress."""

import functools
import inspect
import operator
import re
import sys
import threading
import types
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import aclosing
from typing import Any, Generic, ParamSpec, Self, TypeVar, overload
from weakref import WeakKeyDictionary

from toolwright._sealed import last_init
from toolwright._settings import explained
from toolwright.concurrency import in_user_thread
from toolwright.errors import UsageError
from toolwright.messages import Effects, ToolSpec, Trust
from toolwright.tools._arguments import Args, args_parser
from toolwright.tools._confirmation import Require, with_confirmation
from toolwright.tools._context import ToolContext
from toolwright.tools._json_schema import checked_examples
from toolwright.tools._output import to_output
from toolwright.tools._signature import Signature, read_signature
from toolwright.tools._tool import Handler, IsEnabled, MaxOutput, OnUnknown, Output, Tool
from toolwright.tools._wrappers import with_failure, with_retries, with_timeout

__all__ = ["FunctionTool", "P", "R", "bound", "function_tool", "made_of", "tool"]

P = ParamSpec("P")
R = TypeVar("R")
_OF_METHODS: WeakKeyDictionary[Any, dict[tuple[str, ...], Signature]] = WeakKeyDictionary()
_NAME = re.compile(r"[\w.-]{1,128}")
_MOST_LAYERS = 100
"""More wrappers around a function than anybody writes."""


class FunctionTool(Tool, Generic[P, R]):
    """A tool that calls a Python function. All inspection happens here, none at call time.

    In Python it can still be called like the function: nothing is validated, confirmed or limited
    then, and what the framework would inject is an ordinary argument. Made of a method, it is bound
    to an object as a method is: `notes.add` is a tool that adds to `notes`.

    Made of another tool, or of something that wraps one (`functools.partial`, `functools.cache`, a
    decorator that uses `functools.wraps`), it has the settings of that one but for those given.
    """

    _binding: tuple["FunctionTool", Any] | None = None
    """The tool of the class and the object that it was bound to."""

    def __init__(
        self,
        func: Callable[P, R],
        *,
        require_confirmation: Require = False,
        name: str | None = None,
        description: str | None = None,
        is_enabled: IsEnabled | None = None,
        sequential: bool = False,
        timeout: float | None = None,
        retries: int = 0,
        max_output: MaxOutput | None = None,
        is_failure: Callable[[Any], bool] | None = None,
        effects: Effects = "write",
        idempotent: bool = False,
        on_unknown: OnUnknown = "tell",
        tags: Sequence[str] = (),
        examples: Sequence[Mapping[str, Any]] = (),
        trust: Trust | None = None,
        hidden: Sequence[str] = (),
    ) -> None:
        signature = _read(func, (*hidden, *_receiver(func)))
        if name is None and signature.name == "<lambda>":
            raise UsageError("A lambda has no name that a model could call; give it one: name=….")
        if name is not None and not _NAME.fullmatch(name):
            raise UsageError(
                f"A tool's name is up to 128 letters, digits, '_', '-' and '.'; got {name!r}."
            )
        called = name or signature.name
        parse = args_parser(called, signature.validator, signature.names, signature.defaults)
        spec = ToolSpec(
            name=called,
            description=description or signature.description,
            parameters=signature.parameters,
            tags=tuple(tags),
            examples=checked_examples(called, examples, signature.parameters, parse),
        )
        made = Tool(
            spec=spec,
            parse=parse,
            run=_handler(func, signature),
            sequential=sequential,
            effects=effects,
            idempotent=idempotent,
            on_unknown=on_unknown,
            is_enabled=is_enabled,
            max_output=max_output or MaxOutput(),
            trust=trust,
        )
        made = with_failure(made, is_failure) if is_failure is not None else made
        made = with_timeout(made, timeout) if timeout is not None else made
        made = with_retries(made, retries) if retries else made
        made = with_confirmation(made, require_confirmation) if require_confirmation else made
        self._become(made)
        self.func = func
        self.__wrapped__ = func  # so that `help` and `inspect.signature` show the function
        self.__name__ = getattr(func, "__name__", spec.name)
        self.__qualname__ = getattr(func, "__qualname__", self.__name__)
        self.__module__ = getattr(func, "__module__", type(self).__module__)
        self.__doc__ = inspect.getdoc(func)
        if getattr(func, "__isabstractmethod__", False):
            self.__isabstractmethod__ = True
        # Read by `functools.wraps`: in its place it would find those of the class.
        hints = "__annotate__" if hasattr(func, "__annotate__") else "__annotations__"
        setattr(self, hints, getattr(func, hints, {}))

    def _before_init(
        self, args: tuple[Any, ...], settings: Mapping[str, Any]
    ) -> tuple[tuple[Any, ...], Mapping[str, Any]]:
        """Take over the settings of a tool that is wrapped.

        All are kept, so that it can be made again for each object it is bound to.
        """
        given = {**dict(zip(_positional(type(self)), args, strict=False)), **settings}
        self._made_with = given
        behind = _tool_behind(given.get("func"))
        if behind is None:
            return args, settings
        _refuse_other_kind(type(self), behind)
        filled = _filled_in(given["func"])
        examples = [_without(example, filled) for example in behind.spec.examples]
        inherited = {**behind._made_with, "examples": examples}
        self._made_with = {**inherited, **given, "func": _without_tool(given["func"])}
        return (), self._made_with

    @overload
    def __get__(self, obj: None, owner: type, /) -> Self: ...
    @overload
    def __get__(self, obj: Any, owner: type | None = None, /) -> "FunctionTool[..., R]": ...
    def __get__(self, obj: Any, owner: type | None = None, /) -> Any:
        """The tool bound to `obj`; one that is no method stays as it is."""
        if obj is None or not _is_in_class(self.func):
            return self
        made = _make(type(self), {**self._made_with, "func": types.MethodType(self.func, obj)})
        made._binding = self, obj
        return made

    def __eq__(self, other: object) -> bool:
        """As methods are: `notes.add == notes.add`, though each is made anew."""
        if self._binding is None or not isinstance(other, FunctionTool) or other._binding is None:
            return self is other
        return all(map(operator.is_, self._binding, other._binding))

    def __hash__(self) -> int:
        return hash(tuple(map(id, self._binding or (self,))))

    def __reduce__(self) -> str | tuple[Any, ...]:
        """The tool that stands where its function was is found by name; others are made again."""
        found: Any = sys.modules.get(self.__module__)
        for name in self.__qualname__.split("."):
            found = getattr(found, name, None)
        if found is self:
            return self.__qualname__
        if isinstance(self.func, types.MethodType) and isinstance(found, FunctionTool):
            return getattr, (self.func.__self__, self.__name__)
        return _make, (type(self), self._made_with)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function itself."""
        return self.func(*args, **kwargs)


def _make(cls: type[FunctionTool], settings: Mapping[str, Any]) -> Any:
    return cls(**settings)


def made_of(func: Callable[..., Any], **settings: Any) -> FunctionTool:
    """A tool of `func`: of the kind that it wraps, if it wraps a tool."""
    behind = _tool_behind(func)
    kind: Any = FunctionTool if behind is None else type(behind)
    # A class of the user's own may take other arguments; it is then refused as another kind.
    can_be_made = kind.__init__ is last_init(kind)
    return kind(func, **settings) if can_be_made else FunctionTool(func, **settings)


def _tool_behind(func: Any) -> FunctionTool | None:
    """The tool that `func` is, or that it calls as far as can be seen: it may have to be confirmed."""
    for _ in range(_MOST_LAYERS):
        if func is None or isinstance(func, FunctionTool):
            return func
        func = _wrapped_by(func)
    return None


def _wrapped_by(func: Any) -> Any:
    """What `func` calls, if that can be seen."""
    if isinstance(func, functools.partial):
        return func.func
    if isinstance(func, types.MethodType):
        return func.__func__
    wrapped = getattr(func, "__wrapped__", None)
    if wrapped is not None or inspect.isroutine(func) or inspect.isclass(func):
        return wrapped
    return type(func).__call__ if callable(func) else None


def _filled_in(func: Any) -> set[str]:
    """The parameters that partials around a tool have filled in: no call names them any more."""
    names: set[str] = set()
    for _ in range(_MOST_LAYERS):
        if func is None or isinstance(func, FunctionTool):
            break
        names.update(func.keywords if isinstance(func, functools.partial) else ())
        func = _wrapped_by(func)
    return names


def _without(example: Mapping[str, Any], names: set[str]) -> dict[str, Any]:
    return {name: value for name, value in example.items() if name not in names}


def _without_tool(func: Any) -> Any:
    """`func` with the function of a tool in the place of the tool."""
    if isinstance(func, FunctionTool):
        return func.func
    if isinstance(func, functools.partial):
        return functools.partial(_without_tool(func.func), *func.args, **func.keywords)
    if isinstance(func, types.MethodType) and isinstance(func.__func__, FunctionTool):
        return types.MethodType(func.__func__.func, func.__self__)
    call = type(func).__call__
    return types.MethodType(call.func, func) if isinstance(call, FunctionTool) else func


def _refuse_other_kind(kind: type[FunctionTool], behind: FunctionTool) -> None:
    same = issubclass(kind, type(behind)) and last_init(kind) is last_init(type(behind))
    if not same:
        raise UsageError(
            f"{behind.name!r} is a {type(behind).__name__} already and cannot become a "
            f"{kind.__name__}, which would not have its settings; give the function itself "
            f"({behind.__name__}.func) with all settings."
        )


@functools.cache
def _positional(kind: type[FunctionTool]) -> list[str]:
    parameters = inspect.signature(last_init(kind)).parameters.values()
    return [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD][1:]


def _read(func: Callable[..., Any], hidden: tuple[str, ...]) -> Signature:
    """The signature of `func`; that of a method is read once, for all objects."""
    method = getattr(func, "__func__", None)
    if not isinstance(method, types.FunctionType):
        return read_signature(func, hidden)
    known = _OF_METHODS.setdefault(method, {})
    if hidden not in known:
        known[hidden] = read_signature(func, hidden)
    return known[hidden]


def _is_in_class(func: Any) -> bool:
    """Whether `func` was written in the body of a class."""
    outer = getattr(func, "__qualname__", "").rpartition(".")[0]
    return isinstance(func, types.FunctionType) and outer != "" and not outer.endswith("<locals>")


def _receiver(func: Any) -> tuple[str, ...]:
    """The parameter of a method that stands for its object, which is not known yet."""
    first = next(iter(inspect.signature(func).parameters), "") if _is_in_class(func) else ""
    return (first,) if first in ("self", "cls") else ()


def bound(tool: Tool) -> Tool:
    """The tool, unless it is a method without an object: no model could call that."""
    if isinstance(tool, FunctionTool) and _receiver(tool.func):
        raise UsageError(
            f"Tool {tool.name!r} is a method; give the agent that of an object: "
            f"tools=[obj.{tool.__name__}], not tools=[{tool.__qualname__}]."
        )
    return tool


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
        value = await in_user_thread(call, ctx.abandon)
        if inspect.isawaitable(value):
            value = await value
        return to_output(value)

    return run


def _generator(func: Callable[..., Any], signature: Signature) -> Handler:
    async def run(args: Args, ctx: ToolContext) -> Output:
        over = threading.Event()
        drain = functools.partial(_drain, func(**_fill(signature, args, ctx)), ctx, over)
        try:
            return to_output(await in_user_thread(drain, ctx.abandon))
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
def tool(func: Callable[P, R], /) -> FunctionTool[P, R]: ...
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
    is_failure: Callable[[Any], bool] | None = None,
    effects: Effects = "write",
    idempotent: bool = False,
    on_unknown: OnUnknown = "tell",
    require_confirmation: Require = False,
    tags: Sequence[str] = (),
    examples: Sequence[Mapping[str, Any]] = (),
    trust: Trust | None = None,
) -> Callable[[Callable[P, R]], FunctionTool[P, R]]: ...
@explained(rest=FunctionTool)
def tool(func: Callable[..., Any] | None = None, /, **settings: Any) -> Any:
    """Make a tool of a function: `@tool`, or `@tool(name=…, timeout=…, …)` as for `FunctionTool`."""
    if func is None:
        return lambda function: _of_function(function, settings)
    return _of_function(func, settings)


def _of_function(func: Any, settings: Mapping[str, Any]) -> Any:
    if isinstance(func, staticmethod | classmethod):
        return type(func)(made_of(func.__func__, **settings))
    if not callable(func):
        raise UsageError(f"@tool takes a function; got {func!r}. Settings are given by name.")
    return made_of(func, **settings)


function_tool = tool
"""The name that users of nFactorial know it by."""
