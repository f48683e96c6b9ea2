"""What has changed about a tool, in words for the person who decides whether it may still run."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["difference"]


_PARTS = ("description", "effects", "idempotent", "source", "request", "sign_in", "body", "returns")
_ELSEWHERE = ("name", "parameters", "sent")


def difference(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Each change between two definitions of a tool, in a line of its own; the name is none.

    They are compared as the JSON that they are written as: to Python, 1 and True are the same.
    """
    return list(_changes(old, new)) or list(_whole(old, new))


def _whole(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    """What is no parameter's and nobody's else: an empty list of parameters, and none."""
    was, now = _said(old.get("parameters")), _said(new.get("parameters"))
    if was != now:
        yield f"parameters: {was} is now {now}"


def _changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    more = sorted({*old, *new} - {*_PARTS, *_ELSEWHERE})
    for part in (*_PARTS, *more):
        was, now = _said(old.get(part)), _said(new.get(part))
        if was != now:
            yield f"{part}: {was} is now {now}"
    before, after = _parameters(old), _parameters(new)
    for name in sorted(after.keys() - before.keys()):
        yield f"new parameter {name!r}: {after[name]}"
    for name in sorted(before.keys() - after.keys()):
        yield f"parameter {name!r} is gone"
    for name in sorted(before.keys() & after.keys()):
        if before[name] != after[name]:
            yield f"parameter {name!r}: {before[name]} is now {after[name]}"
    yield from _sent(old.get("sent") or {}, new.get("sent") or {})
    was, now = _said(_rest(old)), _said(_rest(new))
    if was != now:
        yield f"the rest of the schema: {was} is now {now}"


def _sent(old: Any, new: Any) -> Iterator[str]:
    """How arguments are sent, each in a line of its own."""
    if not isinstance(old, Mapping) or not isinstance(new, Mapping):
        old, new = {"all": old}, {"all": new}
    for name in sorted({*old, *new}):
        was, now = _said(old.get(name)), _said(new.get(name))
        if was != now:
            yield f"how {name!r} is sent: {was} is now {now}"


def _parameters(definition: Mapping[str, Any]) -> dict[str, str]:
    found = _schema(definition).get("properties")
    return {n: _said(part) for n, part in found.items()} if isinstance(found, Mapping) else {}


def _rest(definition: Mapping[str, Any]) -> dict[str, Any]:
    """All of the schema that is not shown parameter by parameter."""
    schema = _schema(definition)
    is_shown = isinstance(schema.get("properties"), Mapping)
    return {key: part for key, part in schema.items() if key != "properties" or not is_shown}


def _schema(definition: Mapping[str, Any]) -> Mapping[str, Any]:
    schema = definition.get("parameters")
    return schema if isinstance(schema, Mapping) else {"schema": schema}


def _said(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
