"""A function's signature, read once: parameters for the model, a validator, and what is injected."""

import functools
import inspect
import math
import types
import typing
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NotRequired, Union, get_args, get_origin

from pydantic import (
    ConfigDict,
    Field,
    PydanticSchemaGenerationError,
    PydanticUserError,
    TypeAdapter,
)
from pydantic.fields import FieldInfo
from pydantic_core import SchemaValidator
from typing_extensions import TypedDict

from toolwright.errors import UsageError
from toolwright.messages import jsonable
from toolwright.tools._context import ReadonlyContext
from toolwright.tools._docstring import read_docstring

__all__ = ["Signature", "plain_schema", "read_signature"]

_CONFIG = ConfigDict(
    extra="forbid",
    coerce_numbers_to_str=True,
    arbitrary_types_allowed=False,
    allow_inf_nan=False,  # JSON has no such numbers, and few functions know what to do with them.
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """All that is known about a function before it is ever called."""

    name: str
    description: str
    parameters: dict[str, Any]
    """JSON Schema of what the model may send."""
    validator: SchemaValidator
    names: tuple[str, ...]
    """The parameters the model may set."""
    injected: tuple[str, ...]
    """The parameters that get the context."""
    defaults: dict[str, Any]
    """What the function takes for parameters that are left out."""
    returns: Any


def read_signature(func: Callable[..., Any], hidden: Sequence[str] = ()) -> Signature:
    """Read `func` once; `UsageError` when a model could not call it."""
    name = _name(func)
    hints = _type_hints(func, name)
    docs = read_docstring(_target(func))
    fields: dict[str, Any] = {}
    injected: list[str] = []
    shown_defaults: dict[str, Any] = {}
    defaults: dict[str, Any] = {}
    for parameter in _parameters(func, name):
        hint = hints.get(parameter.name, Any)
        if parameter.name == "tool_context" or _is_context(hint):
            injected.append(parameter.name)
        elif parameter.name not in hidden:
            fields[parameter.name] = _field(parameter, hint, docs.parameters.get(parameter.name))
            _note_default(parameter, shown_defaults)
            if _has_default(parameter):
                defaults[parameter.name] = parameter.default
    adapter = _adapter(name, fields)
    schema = plain_schema(adapter, shown_defaults)
    return Signature(
        name=name,
        description=docs.description,
        parameters=schema,
        validator=typing.cast(SchemaValidator, adapter.validator),
        names=tuple(schema["properties"]),
        injected=tuple(injected),
        defaults=defaults,
        returns=hints.get("return"),
    )


def plain_schema(
    adapter: TypeAdapter[Any], defaults: dict[str, Any] | None = None
) -> dict[str, Any]:
    """The adapter's JSON Schema without the `title`s, with `defaults` shown."""
    schema = _without_titles(adapter.json_schema())
    schema.setdefault("properties", {})
    for name, default in (defaults or {}).items():
        schema["properties"][name].setdefault("default", default)
    return schema


def _target(func: Any) -> Any:
    """The function that was written: behind partials, and behind an object that can be called."""
    while isinstance(func, functools.partial):
        func = func.func
    if inspect.isroutine(func) or inspect.isclass(func):
        return inspect.unwrap(func)
    return type(func).__call__ if type(func).__call__.__doc__ else func


def _name(func: Any) -> str:
    while isinstance(func, functools.partial):
        func = func.func
    name = getattr(func, "__name__", None)
    if name == "__call__" and isinstance(func, types.MethodType):
        return type(func.__self__).__name__
    return name or type(func).__name__


def _type_hints(func: Any, name: str) -> dict[str, Any]:
    target = func
    while isinstance(target, functools.partial):
        target = target.func
    if not inspect.isroutine(target) and not inspect.isclass(target):
        target = type(target).__call__
    try:
        return typing.get_type_hints(target, include_extras=True)
    except NameError as error:
        raise UsageError(
            f"Tool {name!r}: a type in its signature cannot be resolved: {error}. "
            "Import it at module level, outside `if TYPE_CHECKING`."
        ) from error


def _parameters(func: Any, name: str) -> list[inspect.Parameter]:
    bound = set(func.keywords) if isinstance(func, functools.partial) else set()
    try:
        parameters = inspect.signature(func).parameters.values()
    except (TypeError, ValueError) as error:
        raise UsageError(f"Tool {name!r}: {func!r} has no readable signature: {error}") from error
    for parameter in parameters:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise UsageError(
                f"Tool {name!r}: a model cannot fill {str(parameter)!r}; name each parameter."
            )
        if parameter.kind is parameter.POSITIONAL_ONLY:
            raise UsageError(
                f"Tool {name!r}: {parameter.name!r} is positional-only; tools are called by name."
            )
    return [p for p in parameters if p.name not in bound]


def _is_context(hint: Any) -> bool:
    if get_origin(hint) is Annotated:
        hint = get_args(hint)[0]
    options = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    return any(
        isinstance(option, type) and issubclass(option, ReadonlyContext) for option in options
    )


def _field(parameter: inspect.Parameter, hint: Any, description: str | None) -> Any:
    default = parameter.default
    if isinstance(default, FieldInfo):
        hint = Annotated[hint, default]
    if hint is float and _is_endless(default):
        # Who sends back the value that was shown sends what the function wants.
        hint = Annotated[hint, Field(allow_inf_nan=True)]
    if description and not _has_description(hint):
        hint = Annotated[hint, Field(description=description)]
    required = default is parameter.empty or (
        isinstance(default, FieldInfo) and default.is_required()
    )
    return hint if required else NotRequired[hint]  # type: ignore[invalid-annotation]


def _has_description(hint: Any) -> bool:
    extras = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
    return any(isinstance(extra, FieldInfo) and extra.description for extra in extras)


def _note_default(parameter: inspect.Parameter, shown: dict[str, Any]) -> None:
    default = parameter.default
    if not _has_default(parameter):
        return
    # JSON has no word for it, and providers refuse the ones that Python would write.
    if _is_endless(default):
        return
    shown[parameter.name] = jsonable(default)


def _is_endless(default: Any) -> bool:
    return isinstance(default, float) and not math.isfinite(default)


def _has_default(parameter: inspect.Parameter) -> bool:
    """Whether it is put in for a call that leaves it out, so that rules and people see it.

    None says that nothing was given; pydantic fills in what was written as `Field(5)` itself.
    """
    default = parameter.default
    return not (default is parameter.empty or default is None or isinstance(default, FieldInfo))


def _adapter(name: str, fields: dict[str, Any]) -> TypeAdapter[Any]:
    arguments = TypedDict(f"{name}_arguments", fields)  # type: ignore[misc]
    arguments.__pydantic_config__ = _CONFIG  # type: ignore[attr-defined]
    try:
        return TypeAdapter(arguments)
    except (PydanticSchemaGenerationError, PydanticUserError) as error:
        problem = str(error).split("\n")[0]
        raise UsageError(
            f"Tool {name!r}: a parameter has a type that cannot come from JSON: {problem} "
            "Use JSON types, dataclasses or pydantic models."
        ) from error


def _without_titles(schema: Any) -> Any:
    """`schema` without pydantic's generated titles; a property that is named `title` stays."""
    if isinstance(schema, list):
        return [_without_titles(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    cleaned: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "title" and isinstance(value, str):
            continue
        if key in ("properties", "$defs", "patternProperties") and isinstance(value, dict):
            cleaned[key] = {name: _without_titles(inner) for name, inner in value.items()}
        elif key in ("default", "const", "enum", "examples"):
            cleaned[key] = value
        else:
            cleaned[key] = _without_titles(value)
    return cleaned
