"""OpenAPI's schemas as self-contained JSON Schema, for what the model sends."""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from toolwright.errors import UsageError
from toolwright.sources.openapi._document import BrokenRef, Document
from toolwright.sources.openapi._names import Names
from toolwright.tools import SchemaCheck

__all__ = ["SchemaWriter"]

Schema = dict[str, Any]

_MAX_DEPTH = 60
_MAX_NODES = 4_000  # some 250 KB; more than a model can make use of
_SCALARS = ("string", "number", "integer", "boolean")
_TYPES = (*_SCALARS, "array", "object", "null")
_ONE = ("items", "not", "contains", "propertyNames", "additionalProperties", "if", "then", "else")
_MANY = ("allOf", "anyOf", "oneOf", "prefixItems")
_NAMED = ("properties", "patternProperties", "dependentSchemas")


class SchemaWriter:
    """Writes the schemas of one operation; what they share is kept once, in `definitions`.

    A document may be wrong. What cannot be understood is left out, so that the server has the
    last word, and is noted in `problems`.
    """

    def __init__(self) -> None:
        self.definitions: dict[str, Schema] = {}
        self.problems: list[str] = []
        self._names: dict[tuple[int, str], str] = {}
        self._taken = Names()
        self._nodes = 0

    def write(self, raw: Any, home: Document, depth: int = 0) -> Schema:
        """`raw` as JSON Schema; its references start in `home`."""
        self._nodes += 1
        if depth > _MAX_DEPTH or self._nodes > _MAX_NODES:
            # Aliases in YAML can make a small file endlessly large.
            self._note("a schema too deep or too large to be shown")
            return {}
        if not isinstance(raw, Mapping):
            return {}
        if isinstance(raw.get("$ref"), str):
            return self._reference(raw, home, depth)
        return self._nullable(self._keywords(raw, home, depth), raw)

    # -- references -------------------------------------------------------------------------

    def _reference(self, raw: Mapping[str, Any], home: Document, depth: int) -> Schema:
        try:
            target, target_home = home.look_up(raw["$ref"])
        except BrokenRef as error:
            self._note(str(error))
            return {}
        written = self._target(raw["$ref"], target, target_home, depth)
        description = raw.get("description")
        return {**written, "description": description} if isinstance(description, str) else written

    def _target(self, ref: str, target: Any, home: Document, depth: int) -> Schema:
        if isinstance(target, Mapping) and target.get("type") in _SCALARS:
            return self.write(target, home, depth + 1)
        key = (id(home), ref.partition("#")[2])
        name = self._names.get(key)
        if name is None:
            name = self._names[key] = self._free_name(ref)
            self.definitions[name] = {}  # Found by a schema that contains itself.
            self.definitions[name] = self.write(target, home, depth + 1)
        return {"$ref": f"#/$defs/{name}"}

    def _free_name(self, ref: str) -> str:
        wanted = re.sub(r"[^A-Za-z0-9_.-]+", "_", ref.rsplit("/", 1)[-1]).strip("_") or "schema"
        return self._taken.take(wanted)

    # -- keywords ---------------------------------------------------------------------------

    def _keywords(self, raw: Mapping[str, Any], home: Document, depth: int) -> Schema:
        schema = {
            key: value
            for key, is_valid in _PLAIN.items()
            if key in raw and is_valid(value := raw[key])
        }
        schema |= _types(raw)
        schema |= _bounds(raw)
        schema |= self._subschemas(raw, home, depth)
        required = raw.get("required")
        if isinstance(required, list):
            hidden = _read_only_names(raw)
            names = [name for name in required if isinstance(name, str) and name not in hidden]
            schema |= {"required": list(dict.fromkeys(names))} if names else {}
        return schema

    def _subschemas(self, raw: Mapping[str, Any], home: Document, depth: int) -> Schema:
        schema: Schema = {}
        for key in _ONE:
            if isinstance(value := raw.get(key), Mapping):
                schema[key] = self.write(value, home, depth + 1)
            elif isinstance(value, bool) and key == "additionalProperties":
                schema[key] = value
        for key in _MANY:
            if isinstance(value := raw.get(key), list) and value:
                # Alternatives often overlap in practice, and then `oneOf` would refuse both.
                kept = "anyOf" if key == "oneOf" else key
                branches = [self.write(branch, home, depth + 1) for branch in value]
                schema[kept] = [*schema.get(kept, []), *branches]
        for key in _NAMED:
            if isinstance(value := raw.get(key), Mapping):
                hidden = _read_only_names(raw) if key == "properties" else frozenset()
                schema[key] = {
                    str(name): self.write(sub, home, depth + 1)
                    for name, sub in value.items()
                    if name not in hidden
                }
        return schema

    def _nullable(self, schema: Schema, raw: Mapping[str, Any]) -> Schema:
        if raw.get("nullable") is not True:
            return schema
        if isinstance(schema.get("enum"), list) and None not in schema["enum"]:
            schema["enum"] = [*schema["enum"], None]
        if isinstance(schema.get("type"), str):
            return {**schema, "type": [schema["type"], "null"]}
        if "anyOf" in schema:
            return {**schema, "anyOf": [*schema["anyOf"], {"type": "null"}]}
        return {"anyOf": [schema, {"type": "null"}]} if "allOf" in schema else schema

    def _note(self, problem: str) -> None:
        if problem not in self.problems:
            self.problems.append(problem)


def _read_only_names(raw: Mapping[str, Any]) -> frozenset[str]:
    """Properties that only the server fills in."""
    properties = raw.get("properties")
    if not isinstance(properties, Mapping):
        return frozenset()
    return frozenset(
        name
        for name, sub in properties.items()
        if isinstance(sub, Mapping) and sub.get("readOnly") is True
    )


def _types(raw: Mapping[str, Any]) -> Schema:
    declared = raw.get("type")
    if isinstance(declared, str):
        return {"type": declared} if declared in _TYPES else {}
    if isinstance(declared, list):
        known = [kind for kind in _TYPES if kind in declared]
        return {"type": known[0] if len(known) == 1 else known} if known else {}
    return {"type": "object"} if isinstance(raw.get("properties"), Mapping) else {}


def _bounds(raw: Mapping[str, Any]) -> Schema:
    """Minimum and maximum; in 3.0 `exclusiveMinimum` is a flag, in 3.1 it is the number."""
    bounds: Schema = {}
    for plain, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        limit, strict = raw.get(plain), raw.get(exclusive)
        if _is_number(limit):
            bounds[exclusive if strict is True else plain] = limit
        if _is_number(strict):
            bounds[exclusive] = strict
    return bounds


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


@lru_cache(maxsize=4096)
def _is_pattern(value: str) -> bool:
    """Whether our validator reads it: documents are written with many languages' expressions."""
    try:
        SchemaCheck({"pattern": value})
    except UsageError:
        return False
    return True


_PLAIN: dict[str, Callable[[Any], bool]] = {
    "description": _is_text,
    "format": _is_text,
    "pattern": lambda value: isinstance(value, str) and _is_pattern(value),
    "enum": lambda value: isinstance(value, list) and bool(value),
    "const": lambda value: True,
    "default": lambda value: value is not None,
    "multipleOf": lambda value: _is_number(value) and value > 0,
    "minLength": _is_count,
    "maxLength": _is_count,
    "minItems": _is_count,
    "maxItems": _is_count,
    "minProperties": _is_count,
    "maxProperties": _is_count,
    "uniqueItems": lambda value: isinstance(value, bool),
    "deprecated": lambda value: value is True,
}
