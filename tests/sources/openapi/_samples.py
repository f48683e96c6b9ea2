"""A value for any JSON Schema: the smallest that fits, so that a validating server accepts it."""

from typing import Any

_FORMATS = {
    "date-time": "2024-01-31T12:00:00Z",
    "date": "2024-01-31",
    "time": "12:00:00Z",
    "email": "ada@example.com",
    "uuid": "123e4567-e89b-12d3-a456-426614174000",
    "uri": "https://example.com/a",
    "url": "https://example.com/a",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "hostname": "example.com",
    "byte": "YWJj",
}


def sample_arguments(schema: dict[str, Any], *, everything: bool) -> dict[str, Any]:
    """Arguments for a tool with this schema: all of them, or those that are required."""
    required = schema.get("required", [])
    return {
        name: sample(inner, schema.get("$defs", {}))
        for name, inner in schema["properties"].items()
        if everything or name in required
    }


def sample(schema: Any, defs: dict[str, Any], depth: int = 0) -> Any:
    if "$ref" in schema:
        return sample(defs[schema["$ref"].rpartition("/")[2]], defs, depth + 1)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return schema["enum"][0]
    if "anyOf" in schema:
        inner = sample(schema["anyOf"][0], defs, depth + 1)
        own = _typed({k: v for k, v in schema.items() if k != "anyOf"}, defs, depth)
        return {**own, **inner} if isinstance(own, dict) and isinstance(inner, dict) else inner
    if "allOf" in schema:
        own = {k: v for k, v in schema.items() if k != "allOf"}
        parts = [_resolved(part, defs) for part in (*schema["allOf"], own)]
        values = [sample(part, defs, depth + 1) for part in parts if set(part) - {"description"}]
        objects = [value for value in values if isinstance(value, dict)]
        return {k: v for value in objects for k, v in value.items()} if objects else values[0]
    return _typed(schema, defs, depth)


def _resolved(schema: dict[str, Any], defs: dict[str, Any]) -> dict[str, Any]:
    return defs[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema


def _typed(schema: dict[str, Any], defs: dict[str, Any], depth: int) -> Any:
    kind = schema.get("type", "object" if "required" in schema else "string")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "object":
        return _object(schema, defs, depth)
    if kind == "array":
        count = max(schema.get("minItems", 0), 1 if depth < 4 else 0)
        return [sample(schema.get("items", {}), defs, depth + 1) for _ in range(count)]
    if kind == "boolean":
        return True
    if kind == "null":
        return None
    return _number(schema) if kind in ("integer", "number") else _text(schema)


def _object(schema: dict[str, Any], defs: dict[str, Any], depth: int) -> dict[str, Any]:
    properties, required = schema.get("properties", {}), schema.get("required", [])
    if set(properties) >= {"text", "base64", "artifact"}:
        return {"text": "content", "filename": "a.txt"}
    kept = properties if depth < 3 else [name for name in properties if name in required]
    return {
        name: sample(properties.get(name, {}), defs, depth + 1)
        for name in dict.fromkeys([*kept, *required])
    }


def _number(schema: dict[str, Any]) -> int | float:
    low = schema.get("minimum", schema.get("exclusiveMinimum", 0) + 1)
    high = schema.get("maximum", low)
    value = min(low, high)
    step = schema.get("multipleOf")
    return step * -(-value // step) if step else value


def _text(schema: dict[str, Any]) -> str:
    if "default" in schema and isinstance(schema["default"], str):
        return schema["default"]
    text = _FORMATS.get(schema.get("format", ""), "text")
    text = text.ljust(schema.get("minLength", 0), "x")
    return text[: schema.get("maxLength", len(text))]
