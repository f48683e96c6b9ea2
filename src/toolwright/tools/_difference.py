"""What has changed about a tool, in words for the person who decides whether it may still run."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["difference"]


_PARTS = ("description", "effects", "idempotent", "source", "request", "sign_in", "returns")


def difference(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Each change between two definitions of a tool, in a line of its own."""
    return list(_changes(old, new))


def _changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    for part in _PARTS:
        if old.get(part) != new.get(part):
            yield f"{part}: {_said(old.get(part))} is now {_said(new.get(part))}"
    before, after = _parameters(old), _parameters(new)
    for name in after.keys() - before.keys():
        yield f"new parameter {name!r}: {_said(after[name])}"
    for name in before.keys() - after.keys():
        yield f"parameter {name!r} is gone"
    for name in before.keys() & after.keys():
        if before[name] != after[name]:
            yield f"parameter {name!r}: {_said(before[name])} is now {_said(after[name])}"
    rest, now = _rest(old), _rest(new)
    if rest != now:
        yield f"the rest of the schema: {_said(rest)} is now {_said(now)}"


def _parameters(definition: Mapping[str, Any]) -> dict[str, Any]:
    found = (definition.get("parameters") or {}).get("properties")
    return dict(found) if isinstance(found, Mapping) else {}


def _rest(definition: Mapping[str, Any]) -> dict[str, Any]:
    schema = definition.get("parameters") or {}
    return {key: value for key, value in schema.items() if key != "properties"}


def _said(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
