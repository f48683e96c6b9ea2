"""Schemas that a server or plugin may send to do harm, each with what is said of it."""

from typing import Any

__all__ = ["HOSTILE_SCHEMAS", "doubling"]

Schema = dict[str, Any]


def doubling(levels: int, applicator: str = "anyOf") -> Schema:
    """Each level is two times the next: as much work as there are paths."""
    parts: Schema = {
        f"l{level}": {applicator: [{"$ref": f"#/$defs/l{level + 1}"}] * 2}
        for level in range(levels)
    }
    return _argument({"$ref": "#/$defs/l0"}, **parts, **{f"l{levels}": {"type": "string"}})


def nested(levels: int) -> Schema:
    """Arrays of arrays of arrays."""
    schema: Schema = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "array", "items": schema}
    return _argument(schema)


def _argument(schema: Schema, **parts: Any) -> Schema:
    return {"type": "object", "properties": {"x": schema}, "$defs": parts}


_CHAIN: Schema = {f"c{number}": {"$ref": f"#/$defs/c{number + 1}"} for number in range(1000)}
_UNEVALUATED: Schema = {
    f"u{level}": {"allOf": [{"$ref": f"#/$defs/u{level + 1}"}], "unevaluatedProperties": False}
    for level in range(18)
}

HOSTILE_SCHEMAS: dict[str, tuple[Schema, str]] = {
    "remote": (_argument({"$ref": "http://127.0.0.1:9/schema"}), "only references into itself"),
    "file": (_argument({"$ref": "file:///etc/hosts"}), "only references into itself"),
    "relative": (_argument({"$ref": "other.json"}), "only references into itself"),
    "anchor": (_argument({"$ref": "#here"}), "only references into itself"),
    "no_text": (_argument({"$ref": 7}), "only references into itself"),
    "nowhere": (_argument({"$ref": "#/$defs/none"}), "which is not there"),
    "dynamic": (_argument({"$dynamicRef": "#x"}), "uses '$dynamicRef'"),
    "named_part": (_argument({"$id": "http://127.0.0.1:9/", "$ref": "#/$defs/a"}), "a name of its own"),
    "any_of": (doubling(24), "too many alternatives"),
    "all_of": (doubling(24, "allOf"), "too many alternatives"),
    "one_of": (doubling(24, "oneOf"), "too many alternatives"),
    "itself": (_argument({"$ref": "#/$defs/a"}, a={"$ref": "#/$defs/a"}), "without end"),
    "two_rounds": (
        _argument({"$ref": "#/$defs/a"}, a={"anyOf": [{"$ref": "#/$defs/b"}]}, b={"not": {"$ref": "#/$defs/a"}}),
        "without end",
    ),
    "chain": (_argument({"$ref": "#/$defs/c0"}, **_CHAIN, c1000={}), "too many alternatives"),
    "unevaluated": (_argument({"$ref": "#/$defs/u0"}, **_UNEVALUATED, u18={}), "too many alternatives"),
    "deep": (nested(100), "nested more than 50 levels"),
    "wide": (_argument({"enum": list(range(30_000))}), "more than 20,000 values"),
    "long": (_argument({"description": "x" * 600_000}), "letters, more than"),
    "no_type": (_argument({"type": "strin"}), "strin"),
    "no_schema": (_argument({"properties": []}), "properties"),
    "meta": ({"$schema": "http://127.0.0.1:9/meta", "type": "object"}, "no known JSON Schema"),
    "no_pattern": (_argument({"pattern": "("}), "is not a"),
    "big_pattern": (_argument({"pattern": "((a{1000}){1000}){1000}"}), "is not a"),
}  # fmt: skip
