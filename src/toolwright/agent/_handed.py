"""What a workflow's node gives the next one: the value itself, and a stored form that gives it back."""

import base64
import dataclasses
import sys
from collections.abc import Callable
from enum import Enum
from typing import Any, get_type_hints

from pydantic import BaseModel, TypeAdapter

from toolwright.agent._same_value import is_same_value
from toolwright.errors import UsageError
from toolwright.messages import json_copy

__all__ = ["fields_of", "is_plain", "pack", "unpack"]

_MARK = "$value"
_PLAIN = (str, int, float, bool, type(None))


def is_plain(value: Any) -> bool:
    """Whether `value` is the same after a way through JSON."""
    try:
        json_copy(value)
    except ValueError:
        return False
    return _of_plain_types(value)


def _why_not(value: Any) -> str:
    try:
        json_copy(value)
    except ValueError as error:
        return f" ({error})"
    return ""


def _of_plain_types(value: Any) -> bool:
    if type(value) is dict:
        return all(type(k) is str and _of_plain_types(item) for k, item in value.items())
    if type(value) is list:
        return all(_of_plain_types(item) for item in value)
    return type(value) in _PLAIN


def pack(value: Any, function: Callable[..., Any] | None = None) -> dict[str, Any]:
    """`value` as JSON that `unpack` reads; `UsageError` when it could not be read back.

    `function` is what returned it: its return type may say what plain JSON cannot.
    """
    if is_plain(value):
        return {_MARK: "json", "is": value}
    if type(value) is bytes:
        return {_MARK: "bytes", "is": base64.b64encode(value).decode("ascii")}
    for kind, adapter in (("returned", _returned(function)), (_name(value), _own(value))):
        if kind and adapter is not None:
            packed = _dumped(adapter, value)
            if packed is not None:
                return {_MARK: kind, **packed}
    raise UsageError(
        f"It returned {type(value).__name__}, which cannot be stored for the next node so that it "
        f"has the same types again{_why_not(value)}; return JSON values, bytes, an enum, a named "
        "tuple, a pydantic model or a dataclass, and annotate what is returned, also what is "
        "inside it."
    )


def unpack(packed: Any, function: Callable[..., Any] | None = None) -> Any:
    """What `pack` was given."""
    if not isinstance(packed, dict) or _MARK not in packed:
        return packed
    kind, stored = packed[_MARK], packed["is"]
    if kind == "json":
        return stored
    if kind == "bytes":
        return base64.b64decode(stored)
    adapter = _returned(function) if kind == "returned" else _found(kind)
    if adapter is None:
        raise UsageError(f"A stored value is of type {kind!r}, which this program does not have.")
    return adapter.validate_python(stored)


def fields_of(value: Any) -> dict[str, Any] | None:
    """The named parts of a dict, a pydantic model or a dataclass; None for anything else."""
    if isinstance(value, dict):
        return value
    if isinstance(value, BaseModel):
        return {name: getattr(value, name) for name in type(value).model_fields}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return None


def _dumped(adapter: TypeAdapter[Any], value: Any) -> dict[str, Any] | None:
    try:
        stored = adapter.dump_python(value, mode="json", warnings=False)
        kept = is_plain(stored) and is_same_value(value, adapter.validate_python(stored))
    except (ValueError, TypeError, AttributeError):
        return None
    return {"is": stored} if kept else None


def _returned(function: Callable[..., Any] | None) -> TypeAdapter[Any] | None:
    try:
        hint = get_type_hints(function).get("return") if function is not None else None
    except Exception:  # noqa: BLE001 - a type that cannot be read says nothing
        return None
    return None if hint in (None, Any) else _adapter(hint)


def _adapter(kind: Any) -> TypeAdapter[Any] | None:
    try:
        return TypeAdapter(kind)
    except Exception:  # noqa: BLE001 - nor does one that pydantic knows nothing of
        return None


def _own(value: Any) -> TypeAdapter[Any] | None:
    return _found(_name(value)) if _is_ours(type(value)) else None


def _name(value: Any) -> str:
    return f"{type(value).__module__}:{type(value).__qualname__}"


def _found(name: str) -> TypeAdapter[Any] | None:
    """A class by its name, among the modules that the program has loaded itself."""
    module, _, path = name.partition(":")
    found: Any = sys.modules.get(module)
    for part in path.split("."):
        found = getattr(found, part, None)
    is_ours = isinstance(found, type) and _is_ours(found)
    return _adapter(found) if is_ours else None


def _is_ours(kind: type) -> bool:
    """Whether a value of this class is read back by what the class itself says."""
    if issubclass(kind, tuple):
        return hasattr(kind, "_fields")
    return issubclass(kind, (BaseModel, Enum)) or dataclasses.is_dataclass(kind)
