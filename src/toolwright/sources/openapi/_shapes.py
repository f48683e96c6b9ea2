"""Recognise request bodies that are plain objects, whose properties can be arguments of their own."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from toolwright.sources.openapi._document import BrokenRef, Document
from toolwright.sources.openapi._values import as_list, as_mapping, as_texts

__all__ = ["Shape", "object_shape"]

_MAX_DEPTH = 20
# With one of these the properties alone do not say what is allowed.
_NOT_PLAIN = (
    "oneOf", "anyOf", "not", "if", "patternProperties", "dependentSchemas", "dependentRequired",
    "minProperties",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Shape:
    """The properties of a plain object, each with the file its references start in."""

    properties: dict[str, tuple[Any, Document]]
    required: frozenset[str]


def object_shape(raw: Any, home: Document) -> Shape | None:
    """The shape of `raw`, parts joined by `allOf` included; None when it is no plain object."""
    shape = _collect(raw, home, 0)
    if shape is None or not shape.properties:
        return None
    return Shape(shape.properties, shape.required & shape.properties.keys())


def _collect(raw: Any, home: Document, depth: int) -> Shape | None:
    try:
        raw, home = home.follow(raw)
    except BrokenRef:
        return None
    if not isinstance(raw, Mapping) or depth > _MAX_DEPTH or any(key in raw for key in _NOT_PLAIN):
        return None
    if raw.get("type", "object") != "object" or raw.get("additionalProperties", False) is not False:
        return None
    properties, required = _own_properties(raw, home), frozenset(as_texts(raw.get("required")))
    for part in as_list(raw.get("allOf")):
        inner = _collect(part, home, depth + 1)
        if inner is None:
            return None
        properties = {**inner.properties, **properties}
        required |= inner.required
    return Shape(properties, required)


def _own_properties(raw: Mapping[str, Any], home: Document) -> dict[str, tuple[Any, Document]]:
    return {
        str(name): (sub, home)
        for name, sub in as_mapping(raw.get("properties")).items()
        if not (isinstance(sub, Mapping) and sub.get("readOnly") is True)
    }
