"""Bytes as text, in one way everywhere: standard base64, which browsers read in `data:` addresses."""

import base64
import dataclasses
from collections import deque
from collections.abc import Mapping
from enum import Enum
from typing import Any

from pydantic import BaseModel
from pydantic_core import to_jsonable_python

__all__ = ["base64_text", "bytes_as_text"]

_BYTES = (bytes, bytearray, memoryview)
_SEQUENCES = (list, tuple, set, frozenset, deque)
_WITHOUT = frozenset({str, int, float, bool, type(None)})


def base64_text(data: bytes | bytearray | memoryview) -> str:
    """The bytes in standard base64."""
    return base64.b64encode(data).decode()


def bytes_as_text(value: Any) -> Any:
    """`value` with `base64_text` in place of all bytes in it; the same object where there are none.

    Pydantic would write the alphabet for addresses. A Pydantic model inside has its own JSON form,
    and this one only where its own cannot hold the bytes.
    """
    return _as_text(value) if _holds_bytes(value) else value


def _holds_bytes(value: Any) -> bool:
    waiting, seen = [value], set[int]()
    while waiting:
        found = waiting.pop()
        if type(found) in _WITHOUT:
            continue
        if isinstance(found, _BYTES):
            return True
        # It may contain itself.
        if id(found) not in seen:
            seen.add(id(found))
            waiting.extend(_inside(found))
    return False


def _inside(value: Any) -> list[Any]:
    if isinstance(value, Mapping):
        return [*value.keys(), *value.values()]
    if isinstance(value, _SEQUENCES):
        return list(value)
    if isinstance(value, Enum):
        return [value.value]
    return list(_fields(value).values())


def _fields(value: Any) -> dict[str, Any]:
    """The fields of a model or a dataclass; none of other values."""
    if isinstance(value, BaseModel):
        return dict(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return {}


def _as_text(value: Any) -> Any:
    if isinstance(value, _BYTES):
        return base64_text(value)
    if isinstance(value, Mapping):
        return {_as_text(key): _as_text(item) for key, item in value.items()}
    if isinstance(value, _SEQUENCES):
        return [_as_text(item) for item in value]
    if isinstance(value, Enum):
        return _as_text(value.value)
    if hasattr(type(value), "__pydantic_serializer__"):
        try:
            return to_jsonable_python(value, fallback=repr, inf_nan_mode="strings")
        except UnicodeDecodeError:
            pass  # its own form is text, which these bytes are not
    fields = _fields(value)
    return {name: _as_text(item) for name, item in fields.items()} if fields else value
