"""What the model is told about an operation's arguments."""

from typing import Any

import pytest
from inline_snapshot import snapshot
from tests.sources.openapi._calling import document, parameters

from toolwright.errors import ArgumentError
from toolwright.sources import OpenAPIToolset, RestApiTool


def tool_for(operation: dict[str, Any], **more: Any) -> RestApiTool:
    return OpenAPIToolset(spec_dict=document(operation, **more)).get_tool("act")


def in_query(schema: dict[str, Any], **more: Any) -> dict[str, Any]:
    """The schema the model sees for a query parameter `q` of this schema."""
    tool = tool_for({"parameters": [{"name": "q", "in": "query", "schema": schema}]}, **more)
    return parameters(tool)["q"]


def json_body(schema: dict[str, Any], *, required: bool = True) -> dict[str, Any]:
    return {
        "requestBody": {"required": required, "content": {"application/json": {"schema": schema}}}
    }


def test_what_openapi_says_its_own_way_is_said_in_json_schema() -> None:
    assert in_query({"type": "string", "nullable": True, "enum": ["a"]}) == {
        "enum": ["a", None],
        "type": ["string", "null"],
    }
    assert in_query({"type": "integer", "minimum": 1, "exclusiveMinimum": True}) == {
        "type": "integer",
        "exclusiveMinimum": 1,
    }
    assert in_query({"type": ["integer", "null"], "exclusiveMaximum": 5}) == {
        "type": ["integer", "null"],
        "exclusiveMaximum": 5,
    }
    assert in_query({"oneOf": [{"type": "string"}, {"type": "integer"}], "discriminator": {}}) == {
        "anyOf": [{"type": "string"}, {"type": "integer"}]
    }


@pytest.mark.parametrize(
    "broken",
    [
        {"type": "int"},
        {"required": True},
        {"enum": "a, b"},
        {"minLength": "3"},
        {"pattern": "(?<broken"},
        {"items": [1]},
        {"properties": []},
        "string",
        None,
    ],
)
def test_keywords_that_mean_nothing_are_left_out(broken: Any) -> None:
    assert in_query(broken) == {}


def test_a_schema_that_contains_itself_is_kept_once() -> None:
    ref = {"$ref": "#/components/schemas/Node"}
    node = {"type": "object", "properties": {"children": {"type": "array", "items": ref}}}
    tool = tool_for(
        json_body({"type": "object", "properties": {"tree": ref}}),
        method="post",
        components={"schemas": {"Node": node}},
    )
    assert tool.spec.parameters["$defs"]["Node"]["properties"]["children"]["items"] == {
        "$ref": "#/$defs/Node"
    }
    assert tool.parse('{"tree": {"children": [{"children": []}]}}')
    with pytest.raises(ArgumentError, match=r"tree\.children\.0"):
        tool.parse('{"tree": {"children": ["leaf"]}}')


def test_an_operation_with_a_yaml_bomb_is_left_out_and_reported() -> None:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(40):
        schema = {"type": "object", "properties": {"a": schema, "b": schema}}
    toolset = OpenAPIToolset(
        spec_dict=document({"parameters": [{"name": "q", "in": "query", "schema": schema}]})
    )
    [problem] = toolset.problems()["act"]
    assert "it is nested more than 50 levels deep" in problem


def test_the_same_name_in_path_query_header_and_body_gives_four_arguments() -> None:
    places = [
        {"name": "id", "in": place, "schema": {"type": "string"}}
        for place in ("header", "query", "path")
    ]
    tool = tool_for(
        {"parameters": places, **json_body({"type": "object", "properties": {"id": {"type": "integer"}}})},
        path="/things/{id}", method="post",
    )  # fmt: skip
    assert list(parameters(tool)) == ["id", "id_query", "id_header", "id_body"]
    assert tool.spec.parameters["required"] == ["id"]


def test_a_plain_object_body_is_spread_into_arguments_without_what_only_the_server_sets() -> None:
    schema = {
        "allOf": [
            {"type": "object", "properties": {"petName": {"type": "string"}}},
            {
                "properties": {"id": {"type": "integer", "readOnly": True}},
                "required": ["petName", "id"],
            },
        ]
    }
    tool = tool_for(json_body(schema), method="post")
    assert tool.spec.parameters == snapshot(
        {
            "type": "object",
            "properties": {"pet_name": {"type": "string"}},
            "required": ["pet_name"],
            "additionalProperties": False,
        }
    )


@pytest.mark.parametrize(
    ("schema", "required"),
    [
        ({"oneOf": [{"type": "object"}, {"type": "array"}]}, True),
        ({"type": "array", "items": {"type": "string"}}, True),
        ({"type": "object", "additionalProperties": {"type": "string"}}, True),
        ({"type": "object", "properties": {"a": {}}, "required": ["a"]}, False),
    ],
)
def test_any_other_body_is_one_argument(schema: dict[str, Any], required: bool) -> None:
    tool = tool_for(json_body(schema, required=required), method="post")
    assert list(parameters(tool)) == ["body"]
    assert ("body" in tool.spec.parameters.get("required", [])) is required


@pytest.mark.row("004-O10")
def test_property_names_can_be_preserved() -> None:
    operation = {"parameters": [{"name": "perPage", "in": "query", "schema": {"type": "integer"}}]}
    toolset = OpenAPIToolset(spec_dict=document(operation), preserve_property_names=True)
    assert list(parameters(toolset.get_tool("act"))) == ["perPage"]


def test_parameters_of_the_path_hold_for_its_operations_unless_they_say_otherwise() -> None:
    spec = document(
        {"parameters": [{"name": "page", "in": "query", "schema": {"type": "integer"}}]}
    )
    spec["paths"]["/things"]["parameters"] = [
        {"name": "page", "in": "query", "schema": {"type": "string"}},
        {"name": "size", "in": "query", "schema": {"type": "string"}},
    ]
    tool = OpenAPIToolset(spec_dict=spec).get_tool("act")
    assert parameters(tool) == {"page": {"type": "integer"}, "size": {"type": "string"}}


def test_undeclared_path_variables_are_asked_for_all_the_same() -> None:
    tool = tool_for({}, path="/things/{thing-id}")
    assert tool.spec.parameters["required"] == ["thing_id"]


def test_headers_that_are_not_the_models_to_set_are_no_arguments() -> None:
    headers = ["Authorization", "Content-Type", "Host", "Cookie", "X-Forwarded-For", "X-Trace",
               "accept-encoding", "Content-Encoding", "Keep-Alive", "Proxy-Connection",
               "X-Forwarded-Port", "X-HTTP-Method-Override"]  # fmt: skip
    tool = tool_for(
        {"parameters": [{"name": h, "in": "header", "schema": {"type": "string"}} for h in headers]}
    )
    assert list(parameters(tool)) == ["x_trace"]


def test_swagger_2_is_read_as_if_it_were_openapi_3() -> None:
    spec = {
        "swagger": "2.0",
        "consumes": ["application/json"],
        "parameters": {"limit": {"name": "limit", "in": "query", "type": "integer", "maximum": 9}},
        "definitions": {"Pet": {"type": "object", "required": ["name"], "properties": {
            "name": {"type": "string"}}}},
        "paths": {
            "/pets": {
                "get": {"operationId": "listPets", "parameters": [
                    {"$ref": "#/parameters/limit"},
                    {"name": "ids", "in": "query", "type": "array", "items": {"type": "integer"}}]},
                "post": {"operationId": "addPet", "parameters": [
                    {"name": "pet", "in": "body", "required": True,
                     "schema": {"$ref": "#/definitions/Pet"}}]},
            },
            "/photo": {"post": {"operationId": "addPhoto", "parameters": [
                {"name": "file", "in": "formData", "type": "file", "required": True},
                {"name": "note", "in": "formData", "type": "string"}]}},
        },
    }  # fmt: skip
    toolset = OpenAPIToolset(spec_dict=spec)
    listed = parameters(toolset.get_tool("list_pets"))
    assert listed["limit"] == {"type": "integer", "maximum": 9}
    assert listed["ids"] == {"type": "array", "items": {"type": "integer"}}
    assert toolset.get_tool("add_pet").spec.parameters["required"] == ["name"]
    photo = toolset.get_tool("add_photo").spec.parameters
    assert photo["required"] == ["file"]
    assert "base64" in photo["properties"]["file"]["properties"]


def test_a_schema_is_built_only_when_it_is_looked_at() -> None:
    tool = tool_for({"parameters": [{"name": "q", "in": "query"}]})
    assert "plan" not in vars(tool._call)
    assert (tool.name, tool.description, tool.spec.tags) == ("act", "GET /things", ())
    assert "plan" not in vars(tool._call)
    assert tool.spec.parameters["properties"] == {"q": {}}
    assert "plan" in vars(tool._call)
