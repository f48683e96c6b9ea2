"""The OpenAPI document, made from the endpoints."""

import re
from collections.abc import Sequence
from typing import Any

from pydantic import TypeAdapter

from toolwright.messages import event_schema
from toolwright.serve._endpoint import Endpoint, Nothing
from toolwright.serve._problems import MEDIA_TYPE, Problem

__all__ = ["openapi_document"]

_REFS = "#/components/schemas/{model}"
_ALWAYS = (400, 403, 405, 422, 429, 431)
"""Refusals that any request can meet."""


def openapi_document(
    endpoints: Sequence[Endpoint[Any, Any]], *, title: str, version: str, token: bool
) -> dict[str, Any]:
    """Describe `endpoints`; with `token`, say that a bearer token is asked for."""
    schemas: dict[str, Any] = {}
    paths: dict[str, Any] = {}
    for endpoint in endpoints:
        path = re.sub(r"\{(\w+):\w+\}", r"{\1}", endpoint.path)
        paths.setdefault(path, {})[endpoint.method.lower()] = _operation(endpoint, schemas, token)
    schemas["Event"] = _lifted(event_schema(), schemas)
    document: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {"title": title, "version": version},
        "paths": paths,
        "components": {"schemas": schemas},
    }
    if token:
        bearer = {"type": "http", "scheme": "bearer"}
        document["components"]["securitySchemes"] = {"token": bearer}
        document["security"] = [{"token": []}]
    return document


def _operation(
    endpoint: Endpoint[Any, Any], schemas: dict[str, Any], token: bool
) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": endpoint.run.__name__.strip("_"),
        "summary": endpoint.summary,
        "tags": [endpoint.tag],
        "parameters": _path_parameters(endpoint) + _query_parameters(endpoint, schemas),
        "responses": _responses(endpoint, schemas, token),
    }
    if endpoint.has_body:
        content = {"application/json": {"schema": _schema(endpoint.body, schemas)}}
        operation["requestBody"] = {"required": True, "content": content}
    elif endpoint.raw_body:
        anything = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
        operation["requestBody"] = {"required": True, "content": anything}
    return operation


def _path_parameters(endpoint: Endpoint[Any, Any]) -> list[dict[str, Any]]:
    text = {"type": "string", "minLength": 1}
    return [
        {"name": name, "in": "path", "required": True, "schema": text}
        for name in re.findall(r"\{(\w+)", endpoint.path)
    ]


def _query_parameters(
    endpoint: Endpoint[Any, Any], schemas: dict[str, Any]
) -> list[dict[str, Any]]:
    if endpoint.query is Nothing:
        return []
    schema = _lifted(TypeAdapter(endpoint.query).json_schema(ref_template=_REFS), schemas)
    required = schema.get("required", [])
    return [
        {"name": name, "in": "query", "required": name in required, "schema": _plain(field)}
        for name, field in schema["properties"].items()
    ]


def _plain(field: dict[str, Any]) -> dict[str, Any]:
    """A query field is text or absent: the null of an optional field cannot be written in one."""
    choices = [choice for choice in field.get("anyOf", []) if choice != {"type": "null"}]
    return choices[0] if len(choices) == 1 else field


def _responses(
    endpoint: Endpoint[Any, Any], schemas: dict[str, Any], token: bool
) -> dict[str, Any]:
    problem = {MEDIA_TYPE: {"schema": _schema(Problem, schemas)}}
    body = (413, 415) if endpoint.has_body else (413,) if endpoint.raw_body else ()
    refusals = {*_ALWAYS, *endpoint.errors, *body, *((401,) if token else ())}
    responses: dict[str, Any] = {str(endpoint.status): _success(endpoint, schemas)}
    for status in sorted(refusals):
        responses[str(status)] = {"description": "Refused", "content": problem}
    return responses


def _success(endpoint: Endpoint[Any, Any], schemas: dict[str, Any]) -> dict[str, Any]:
    if endpoint.status == 204:
        return {"description": "Done"}
    if endpoint.returns is None:
        return {"description": "Done", "content": {endpoint.media_type: {}}}
    schema = _schema(endpoint.returns, schemas)
    return {"description": "Done", "content": {endpoint.media_type: {"schema": schema}}}


def _schema(kind: Any, schemas: dict[str, Any]) -> dict[str, Any]:
    mode = "validation" if kind is not None and hasattr(kind, "model_fields") else "serialization"
    return _lifted(TypeAdapter(kind).json_schema(ref_template=_REFS, mode=mode), schemas)


def _lifted(schema: dict[str, Any], schemas: dict[str, Any]) -> dict[str, Any]:
    """Move a schema's own definitions to the document's; references already point there."""
    schemas.update(schema.pop("$defs", {}))
    return schema
