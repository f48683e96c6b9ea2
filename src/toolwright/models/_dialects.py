"""JSON Schema in the dialects that providers accept.

A keyword that a dialect lacks is written into the description, so that the model still knows it;
the tool's own validation enforces it in any case.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["all_required", "gemini_schema", "strict_schema"]

Schema = dict[str, Any]

_NOISE = frozenset({"title", "default", "examples", "$schema", "$id", "$comment", "deprecated",
                    "readOnly", "writeOnly", "discriminator"})  # fmt: skip
_STRICT = frozenset(
    {"type", "description", "enum", "const", "anyOf", "$ref", "$defs", "properties", "required",
     "additionalProperties", "items", "minItems", "maxItems", "pattern", "format", "multipleOf",
     "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}
)  # fmt: skip
_STRICT_FORMATS = frozenset(
    {"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}
)
_UNSAYABLE = frozenset(
    {"allOf", "not", "if", "then", "else", "patternProperties", "dependentSchemas",
     "dependentRequired", "prefixItems", "contains", "propertyNames", "unevaluatedProperties"}
)  # fmt: skip
_GEMINI = frozenset(
    {"type", "description", "enum", "anyOf", "$ref", "$defs", "properties", "required",
     "additionalProperties", "items", "prefixItems", "minItems", "maxItems", "minimum", "maximum",
     "format"}
)  # fmt: skip
_GEMINI_FORMATS = frozenset(
    {"date-time", "date", "time", "enum", "int32", "int64", "float", "double"}
)
_OF_ARRAYS = frozenset(
    {"items", "prefixItems", "contains", "minItems", "maxItems", "uniqueItems", "unevaluatedItems",
     "additionalItems", "minContains", "maxContains"}
)  # fmt: skip
_OF_OBJECTS = frozenset(
    {"properties", "required", "additionalProperties", "patternProperties", "propertyNames",
     "dependentSchemas", "dependentRequired", "unevaluatedProperties", "minProperties",
     "maxProperties", "dependencies"}
)  # fmt: skip


class _NotStrict(Exception):
    """The schema says something that strict mode cannot say."""


def strict_schema(schema: Mapping[str, Any]) -> Schema | None:
    """`schema` for OpenAI's strict mode, or None when strict mode would change its meaning.

    Strict mode has no optional properties, no open objects and a closed set of keywords.
    """
    try:
        strict = _strict(schema)
    except _NotStrict:
        return None
    return strict if strict.get("type") == "object" else None


def all_required(schema: Mapping[str, Any]) -> Schema:
    """`schema` with every property required, for outputs: a stricter answer always fits too."""
    made = _map_children(schema, all_required)
    if "properties" in made:
        made["required"] = list(made["properties"])
    return made


def gemini_schema(schema: Mapping[str, Any]) -> Schema:
    """`schema` in the subset of JSON Schema that Gemini reads."""
    made = _without_noise(_without_all_of(schema))
    _const_to_enum(made)
    _one_of_to_any_of(made)
    _type_list_to_any_of(made)
    _plain_enum(made)
    made = _map_children(made, gemini_schema)
    made = _noted(made, _GEMINI, _GEMINI_FORMATS)
    return _ref_alone(made)


def _strict(schema: Mapping[str, Any]) -> Schema:
    made = _without_noise(_without_all_of(schema))
    _one_of_to_any_of(made)
    if not made.keys().isdisjoint(_UNSAYABLE):
        raise _NotStrict
    if not made.keys() & {"type", "anyOf", "$ref", "enum", "const"}:
        raise _NotStrict  # it allows anything
    if _is_object(made):
        _close(made)
    made = _map_children(made, _strict)
    made = _noted(made, _STRICT, _STRICT_FORMATS)
    return _ref_alone(made)


def _is_object(schema: Schema) -> bool:
    kind = schema.get("type")
    return (
        kind == "object" or "properties" in schema or (isinstance(kind, list) and "object" in kind)
    )


def _close(schema: Schema) -> None:
    """Forbid further properties, where leaving that open was not the point of the schema."""
    is_open = schema.get("additionalProperties", "properties" not in schema)
    properties = schema.setdefault("properties", {})
    if is_open or set(properties) != set(schema.get("required", ())):
        raise _NotStrict
    schema["required"] = list(properties)
    schema["additionalProperties"] = False


def _map_children(
    schema: Mapping[str, Any], change: Callable[[Mapping[str, Any]], Schema]
) -> Schema:
    """A copy of `schema` with `change` applied to the schemas directly inside it."""
    made = dict(schema)
    for key in ("properties", "$defs"):
        if key in made:
            made[key] = {name: _changed(child, change) for name, child in made[key].items()}
    for key in ("anyOf", "oneOf", "allOf", "prefixItems"):
        if key in made:
            made[key] = [_changed(child, change) for child in made[key]]
    for key in ("items", "additionalProperties"):
        if key in made:
            made[key] = _changed(made[key], change)
    return made


def _changed(child: Any, change: Callable[[Mapping[str, Any]], Schema]) -> Any:
    return change(child) if isinstance(child, Mapping) else child


def _without_noise(schema: Mapping[str, Any]) -> Schema:
    return {key: value for key, value in schema.items() if key not in _NOISE}


def _without_all_of(schema: Mapping[str, Any]) -> Schema:
    """`allOf` merged into one schema; left alone where its members say different things."""
    members = schema.get("allOf")
    if not isinstance(members, list) or not all(isinstance(part, Mapping) for part in members):
        return dict(schema)
    rest = {key: value for key, value in schema.items() if key != "allOf"}
    parts = [*(_without_all_of(member) for member in members), rest]
    merged: Schema = {}
    for part in parts:
        if not _merge(merged, part):
            return dict(schema)
    return merged


def _merge(into: Schema, schema: Schema) -> bool:
    """Add what `schema` says; False when that contradicts, or when a closed object would open."""
    both_objects = "properties" in into and "properties" in schema
    if both_objects and ("additionalProperties" in into or "additionalProperties" in schema):
        return False
    for key, value in schema.items():
        known = into.get(key, value)
        if key == "properties" and all(known.get(name, one) == one for name, one in value.items()):
            into[key] = {**known, **value}
        elif key == "required":
            into[key] = [*known, *(name for name in value if name not in known)]
        elif key in ("description", "title") or known == value:
            into[key] = value
        else:
            return False
    return True


def _one_of_to_any_of(schema: Schema) -> None:
    if "oneOf" in schema and "anyOf" not in schema:
        schema["anyOf"] = schema.pop("oneOf")


def _const_to_enum(schema: Schema) -> None:
    if "const" in schema:
        schema["enum"] = [schema.pop("const")]


def _type_list_to_any_of(schema: Schema) -> None:
    kinds = schema.get("type")
    if isinstance(kinds, list) and "anyOf" in schema:
        schema["types"] = schema.pop("type")
    elif isinstance(kinds, list):
        del schema["type"]
        rest = {key: schema.pop(key) for key in list(schema) if key not in ("description", "$defs")}
        schema["anyOf"] = [
            {"type": kind, **{key: rest[key] for key in rest if _is_about(key, kind)}}
            for kind in kinds
        ]


def _plain_enum(schema: Schema) -> None:
    """Texts and numbers alone, which is all that Gemini takes; null becomes a type beside them."""
    values = schema.get("enum")
    if not isinstance(values, list):
        return
    plain = [value for value in values if type(value) in (str, int, float)]
    if len(plain) + values.count(None) < len(values):
        schema["allowed values"] = schema.pop("enum")
    elif not plain:
        schema.pop("enum")
        schema["type"] = "null"
    elif len(plain) < len(values):
        schema["enum"] = plain
        if "type" not in schema and "anyOf" not in schema:
            schema["anyOf"] = [{"enum": schema.pop("enum")}, {"type": "null"}]


def _is_about(key: str, kind: str) -> bool:
    """Whether a keyword says anything of values of a kind."""
    if kind == "null":
        return False
    whose = "array" if key in _OF_ARRAYS else "object" if key in _OF_OBJECTS else kind
    return whose == kind


def _noted(schema: Schema, known: frozenset[str], formats: frozenset[str]) -> Schema:
    """Only the `known` keywords; what is left out is said in the description."""
    kept = {key: value for key, value in schema.items() if key in known}
    if kept.get("format") not in formats:
        kept.pop("format", None)
    lost = {key: value for key, value in schema.items() if key not in kept}
    if lost:
        note = ", ".join(f"{key}: {json.dumps(value)}" for key, value in lost.items())
        kept["description"] = f"{kept['description']} ({note})" if "description" in kept else note
    return kept


def _ref_alone(schema: Schema) -> Schema:
    """A reference with nothing beside it but definitions; a description moves around it."""
    beside = schema.keys() - {"$ref", "$defs"}
    if "$ref" not in schema or not beside:
        return schema
    rest = {key: value for key, value in schema.items() if key != "$ref"}
    return {"anyOf": [{"$ref": schema["$ref"]}], **rest}
