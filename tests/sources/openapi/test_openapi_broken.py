"""Documents that are wrong anywhere still give tools with valid schemas."""

import copy
from collections.abc import Iterator
from typing import Any

import jsonschema_rs
from hypothesis import given, settings
from hypothesis import strategies as st

from toolwright.errors import UsageError
from toolwright.sources import OpenAPIToolset

WHOLE: dict[str, Any] = {
    "openapi": "3.0.3",
    "info": {"title": "t", "version": "1"},
    "servers": [{"url": "https://{host}/v1", "variables": {"host": {"default": "a.example"}}}],
    "security": [{"key": []}],
    "paths": {
        "/things/{id}": {
            "parameters": [{"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}],
            "post": {
                "operationId": "act",
                "tags": ["a"],
                "summary": "Act.",
                "parameters": [
                    {"$ref": "#/components/parameters/page"},
                    {"name": "f", "in": "query", "content": {"application/json": {"schema": {}}}},
                ],
                "requestBody": {
                    "required": True,
                    "content": {
                        "multipart/form-data": {
                            "schema": {"$ref": "#/components/schemas/Thing"},
                            "encoding": {"meta": {"contentType": "application/json"}},
                        }
                    },
                },
            },
        }
    },
    "components": {
        "parameters": {"page": {"name": "page", "in": "query", "schema": {"type": "integer", "minimum": 1}}},
        "schemas": {
            "Thing": {
                "allOf": [
                    {
                        "type": "object",
                        "required": ["name"],
                        "properties": {
                            "name": {"type": "string", "pattern": "^a", "nullable": True},
                            "file": {"type": "string", "format": "binary"},
                            "meta": {"type": "object", "additionalProperties": {"type": "string"}},
                            "next": {"$ref": "#/components/schemas/Thing"},
                        },
                    }
                ]
            }
        },
        "securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}},
    },
}  # fmt: skip
SWAGGER: dict[str, Any] = {
    "swagger": "2.0",
    "host": "a.example",
    "basePath": "/v1",
    "schemes": ["https"],
    "consumes": ["application/json"],
    "paths": {
        "/things/{id}": {
            "post": {
                "parameters": [
                    {"name": "id", "in": "path", "required": True, "type": "string"},
                    {"name": "tags", "in": "query", "type": "array", "items": {"type": "string"},
                     "collectionFormat": "pipes"},
                    {"name": "file", "in": "formData", "type": "file"},
                ],
            },
            "put": {"parameters": [{"name": "b", "in": "body", "schema": {"$ref": "#/definitions/T"}}]},
        }
    },
    "definitions": {"T": {"type": "object", "properties": {"a": {"type": "integer"}}}},
    "securityDefinitions": {"o": {"type": "oauth2", "flow": "accessCode", "tokenUrl": "https://t"}},
}  # fmt: skip

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5)
    | st.sampled_from(["object", "array", "string", "#/components/schemas/Thing", "#", "path", "body"]),
    lambda inner: st.lists(inner, max_size=2)
    | st.dictionaries(st.sampled_from(["type", "$ref", "in", "name", "schema", "allOf", "x"]), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of everything inside `value`."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in items:
        yield (*path, key)
        if isinstance(inner, dict | list):
            yield from places(inner, (*path, key))


def with_change(document: dict[str, Any], path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    changed = copy.deepcopy(document)
    holder: Any = changed
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = value
    return changed


@settings(max_examples=300, deadline=None)
@given(st.data(), st.sampled_from([WHOLE, SWAGGER]), anything)
def test_one_wrong_value_anywhere_leaves_valid_schemas(
    data: st.DataObject, document: dict[str, Any], wrong: Any
) -> None:
    path = data.draw(st.sampled_from(list(places(document))))
    try:
        toolset = OpenAPIToolset(spec_dict=with_change(document, path, wrong))
    except UsageError:
        return
    for tool in toolset._tools.values():
        jsonschema_rs.validator_for(tool.spec.parameters)
        assert tool.description
        tool._call.connection.security.alternatives(tool.operation)
        assert 0 < len(tool.name) <= 60
