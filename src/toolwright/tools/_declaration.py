"""What a hand-written tool says of itself, in whichever form it says it."""

from collections.abc import Mapping
from typing import Any

from toolwright.errors import UsageError
from toolwright.messages import ToolSpec

__all__ = ["read_declaration"]

_KEYS = ("name", "description", "parameters", "parameters_json_schema")
_TYPES = ("STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL")
_VALUES = ("default", "enum", "const", "example", "examples")
"""What stands under these is no schema."""


def read_declaration(declared: Any, whose: str, name: str, description: str) -> ToolSpec:
    """A `ToolSpec` of a spec, a dict with the same keys, or a `types.FunctionDeclaration` of Google's.

    What the two latter leave out is `name` and `description`.
    """
    if isinstance(declared, ToolSpec):
        return declared
    if isinstance(declared, Mapping):
        if unknown := sorted(set(declared) - set(_KEYS)):
            raise UsageError(
                f"{whose}._get_declaration has {unknown[0]!r}; known keys: {', '.join(_KEYS)}."
            )
        found = dict(declared)
    elif hasattr(declared, "parameters") and hasattr(declared, "model_dump"):
        found = {key: getattr(declared, key, None) for key in _KEYS}
    else:
        raise UsageError(
            f"{whose}._get_declaration returned {declared!r}; return a ToolSpec, a dict with "
            "name, description and parameters, a types.FunctionDeclaration, or None to hide the tool."
        )
    schema = found.get("parameters_json_schema") or found.get("parameters")
    return ToolSpec(
        name=found.get("name") or name,
        description=found.get("description") or description,
        parameters={"type": "object", "properties": {}} if not schema else _plain(schema, whose),
    )


def _plain(schema: Any, whose: str) -> dict[str, Any]:
    """JSON Schema as plain JSON; Google's own schemas write it in other words."""
    if isinstance(schema, Mapping):
        return {key: _in_json_schema(key, value) for key, value in schema.items()}
    try:
        return schema.json_schema.model_dump(mode="json", exclude_none=True, by_alias=True)
    except AttributeError:
        raise UsageError(
            f"{whose}._get_declaration has parameters of {type(schema).__name__}; "
            "give JSON Schema as a dict."
        ) from None


def _in_json_schema(key: str, value: Any) -> Any:
    """A part of a schema, with types such as `INTEGER`, as Gemini writes them, in lower case."""
    if key in _VALUES:
        return value
    if key == "type" and isinstance(value, str) and value in _TYPES:
        return value.lower()
    if isinstance(value, Mapping):
        return {inner: _in_json_schema(inner, found) for inner, found in value.items()}
    return [_in_json_schema("", each) for each in value] if isinstance(value, list) else value
