"""Swagger 2.0, told in the words of OpenAPI 3: one operation at a time, so that opening stays cheap.

Schemas need no rewriting: their references (`#/definitions/…`) lead where they always led.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from toolwright.sources.openapi._values import as_mapping, as_texts

__all__ = [
    "body_from_swagger",
    "parameter_from_swagger",
    "schemes_from_swagger",
    "servers_from_swagger",
]

_STYLES: dict[str, tuple[str, bool]] = {
    "csv": ("form", False),
    "ssv": ("spaceDelimited", False),
    "tsv": ("spaceDelimited", False),
    "pipes": ("pipeDelimited", False),
    "multi": ("form", True),
}
_OUTSIDE_SCHEMA = frozenset(
    {"name", "in", "required", "description", "collectionFormat", "allowEmptyValue"}
)
_FLOWS = {"accessCode": "authorizationCode", "application": "clientCredentials"}


def parameter_from_swagger(raw: Mapping[str, Any]) -> dict[str, Any]:
    """A path, query or header parameter."""
    schema = {key: value for key, value in raw.items() if key not in _OUTSIDE_SCHEMA}
    parameter: dict[str, Any] = {
        key: raw[key] for key in ("name", "in", "required", "description") if key in raw
    }
    if raw.get("type") == "array" and raw.get("in") in ("query", "formData"):
        style, explode = _STYLES.get(str(raw.get("collectionFormat")), ("form", False))
        parameter |= {"style": style, "explode": explode}
    return parameter | {"schema": _with_files(schema)}


def body_from_swagger(
    parameters: Sequence[Mapping[str, Any]], consumes: Sequence[str]
) -> dict[str, Any] | None:
    """The request body that `body` and `formData` parameters stand for."""
    whole = [parameter for parameter in parameters if parameter.get("in") == "body"]
    if whole:
        content = {"schema": whole[0].get("schema", {})}
        return {
            "required": bool(whole[0].get("required")),
            "description": whole[0].get("description", ""),
            "content": dict.fromkeys(consumes or ["application/json"], content),
        }
    fields = [parameter for parameter in parameters if parameter.get("in") == "formData"]
    return _form(fields, consumes) if fields else None


def _form(fields: Sequence[Mapping[str, Any]], consumes: Sequence[str]) -> dict[str, Any]:
    converted = [parameter_from_swagger(field) for field in fields]
    properties = {
        str(field.get("name")): field["schema"] | {"description": field.get("description", "")}
        for field in converted
    }
    encoding = {
        str(field.get("name")): {"style": field["style"], "explode": field["explode"]}
        for field in converted
        if "style" in field
    }
    required = [str(field.get("name")) for field in fields if field.get("required")]
    has_files = any(field.get("type") == "file" for field in fields)
    plain = "multipart/form-data" if has_files else "application/x-www-form-urlencoded"
    forms = [media_type for media_type in consumes if "form" in media_type and not has_files]
    schema = {"type": "object", "properties": properties, "required": required}
    return {
        "required": bool(required),
        "content": {(forms or [plain])[0]: {"schema": schema, "encoding": encoding}},
    }


def _with_files(schema: Mapping[str, Any]) -> dict[str, Any]:
    if schema.get("type") == "file":
        return {**schema, "type": "string", "format": "binary"}
    return dict(schema)


def servers_from_swagger(root: Mapping[str, Any]) -> list[dict[str, Any]]:
    """`host`, `basePath` and `schemes` as one server; encrypted where the document allows it."""
    path = str(root.get("basePath") or "/")
    if not root.get("host"):
        return [{"url": path}]
    schemes = as_texts(root.get("schemes")) or ["https"]
    scheme = "https" if "https" in schemes else schemes[0]
    return [{"url": f"{scheme}://{root['host']}{path}"}]


def schemes_from_swagger(root: Mapping[str, Any]) -> dict[str, Any]:
    """`securityDefinitions` as OpenAPI 3 security schemes."""
    return {
        name: _scheme(raw)
        for name, raw in as_mapping(root.get("securityDefinitions")).items()
        if isinstance(raw, Mapping)
    }


def _scheme(raw: Mapping[str, Any]) -> dict[str, Any]:
    if raw.get("type") == "basic":
        return {"type": "http", "scheme": "basic"}
    if raw.get("type") != "oauth2":
        return dict(raw)
    flow = str(raw.get("flow", "accessCode"))
    addresses = {key: raw[key] for key in ("authorizationUrl", "tokenUrl", "scopes") if key in raw}
    return {"type": "oauth2", "flows": {_FLOWS.get(flow, flow): addresses}}
