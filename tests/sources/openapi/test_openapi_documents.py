"""Opening documents: formats, versions, references, names and filters."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from inline_snapshot import snapshot
from starlette.responses import JSONResponse
from tests.sources.openapi._calling import document, parameters
from tests.sources.openapi._recorder import Recorder

from toolwright.errors import ToolError, UsageError
from toolwright.sources import ApiRegistry, OpenAPIToolset, operations
from toolwright.sources.openapi._names import Names

pytestmark = pytest.mark.anyio

PETS: dict[str, Any] = {
    "openapi": "3.0.3",
    "info": {"title": "Pets", "version": "1"},
    "paths": {
        "/pets": {
            "get": {"operationId": "listPets", "tags": ["pets"], "summary": "List all pets"},
            "post": {"operationId": "createPet", "tags": ["pets", "admin"]},
        },
        "/owners/{ownerId}": {"get": {"tags": ["owners"]}},
    },
}


def names(toolset: OpenAPIToolset) -> list[str]:
    return [tool.name for tool in toolset._tools.values()]


async def test_each_operation_becomes_a_tool_in_the_documents_order() -> None:
    tools = await OpenAPIToolset(spec_dict=PETS).list_tools()
    assert [(tool.name, tool.effects) for tool in tools] == snapshot(
        [("list_pets", "read"), ("create_pet", "write"), ("get_owners_owner_id", "read")]
    )
    assert tools[0].description == "List all pets"
    assert tools[0].spec.tags == ("pets",)


@pytest.mark.row("004-O2")
async def test_text_in_json_and_yaml_and_files_give_the_same_tools(tmp_path: Path) -> None:
    (tmp_path / "pets.yaml").write_text(yaml.safe_dump(PETS, sort_keys=False))
    (tmp_path / "pets.json").write_text(json.dumps(PETS))
    opened = [
        OpenAPIToolset(spec_str=json.dumps(PETS)),
        OpenAPIToolset(spec_str=yaml.safe_dump(PETS, sort_keys=False), spec_str_type="yaml"),
        OpenAPIToolset(tmp_path / "pets.yaml"),
        OpenAPIToolset(str(tmp_path / "pets.json")),
    ]
    for toolset in opened:
        assert [t.name for t in await toolset.list_tools()] == [
            "list_pets",
            "create_pet",
            "get_owners_owner_id",
        ]


async def test_a_document_on_the_web_is_fetched_when_its_tools_are_asked_for(
    server: Recorder,
) -> None:
    server.replies.append(JSONResponse(PETS))
    toolset = OpenAPIToolset(f"{server.url}/openapi.json")
    assert server.seen == []
    assert len(await toolset.list_tools()) == 3
    assert len(await toolset.list_tools()) == 3
    assert [seen.path for seen in server.seen] == ["/openapi.json"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({}, "exactly one of source, spec_dict, spec_str; got none"),
        ({"spec_dict": PETS, "spec_str": "{}"}, "got spec_dict and spec_str"),
        ({"spec_str": "openapi: 3.0.0"}, "spec_str is not JSON.*spec_str_type='yaml'"),
        ({"spec_str": "a: [", "spec_str_type": "yaml"}, "spec_str is not YAML"),
        ({"spec_str": "[]"}, "it is a list"),
        (
            {"spec_str": "{}", "spec_str_type": "xml"},
            "'json' or 'yaml' as 'spec_str_type'; got 'xml'",
        ),
        ({"spec_dict": {"info": {}}}, "wanted 'openapi: 3.x'.*found version ''.*info"),
        ({"spec_dict": {"openapi": "4.0"}}, "found version '4.0'"),
        ({"source": "/nowhere/pets.yaml"}, "Cannot read the OpenAPI document"),
        ({"spec_dict": PETS, "tool_filter": "list_pets"}, "as 'tool_filter'; got 'list_pets'"),
        ({"spec_dict": PETS, "ssl_verify": "/no/such.pem"}, "ssl_verify='/no/such.pem'"),
    ],
)
def test_what_cannot_be_opened_says_why(arguments: dict[str, Any], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        OpenAPIToolset(**arguments)


def test_yaml_is_read_with_jsons_types_only() -> None:
    text = """
openapi: 3.0.0
paths:
  /a:
    get:
      operationId: act
      parameters:
        - {name: country, in: query, schema: {type: string, enum: [no, se]}}
        - {name: day, in: query, schema: {type: string, default: 2024-01-31}}
      responses: {200: {description: fine}}
"""
    tool = OpenAPIToolset(spec_str=text, spec_str_type="yaml").get_tool("act")
    assert parameters(tool)["country"]["enum"] == ["no", "se"]
    assert parameters(tool)["day"]["default"] == "2024-01-31"


@pytest.mark.row("004-O14")
async def test_filters_choose_by_name_tag_path_method_or_predicate() -> None:
    async def kept(tool_filter: Any, prefix: str | None = None) -> list[str]:
        toolset = OpenAPIToolset(spec_dict=PETS, tool_filter=tool_filter, tool_name_prefix=prefix)
        return [tool.name for tool in await toolset.list_tools()]

    assert await kept(["create_pet"]) == ["create_pet"]
    assert await kept(["create_pet"], prefix="shop") == ["shop_create_pet"]
    for written in ("createPet", "create_pet", "shop_create_pet"):
        assert await kept([written], prefix="shop") == ["shop_create_pet"]
    with pytest.raises(UsageError, match=r"no tool 'createPets'.* names: .*shop_create_pet"):
        await kept(["createPets"], prefix="shop")
    assert await kept(operations(tags=["owners", "admin"])) == ["create_pet", "get_owners_owner_id"]
    assert await kept(operations(paths=["/pets*"], methods=["get"])) == ["list_pets"]
    assert await kept(lambda tool, ctx: tool.operation.path.startswith("/o")) == [
        "get_owners_owner_id"
    ]
    with pytest.raises(UsageError, match=r"Write \['pets'\]"):
        operations(tags="pets")


@pytest.mark.row("004-O3")
@pytest.mark.parametrize("prefix", ["petstore_", "petstore"])
def test_get_tool_finds_one_operation_with_or_without_the_prefix(prefix: str) -> None:
    toolset = OpenAPIToolset(spec_dict=PETS, tool_name_prefix=prefix)
    assert toolset.get_tool("list_pets").name == "petstore_list_pets"
    assert toolset.get_tool("petstore_list_pets") is toolset.get_tool("list_pets")
    assert toolset.get_tool("listPets") is toolset.get_tool("list_pets")
    with pytest.raises(UsageError, match="no operation 'list_dogs'; it has: petstore_list_pets"):
        toolset.get_tool("list_dogs")


@pytest.mark.row("004-O1a")
def test_names_are_snake_cased_short_and_unique() -> None:
    ids = [
        "getHTTPStatus",
        "get-http-status",
        "repos/list for org",
        "x" * 80,
        "x" * 90,
        "2fast",
        "日本",
    ]
    paths = {f"/p{i}": {"get": {"operationId": name}} for i, name in enumerate(ids)}
    toolset = OpenAPIToolset(spec_dict={"openapi": "3.1.0", "paths": paths})
    assert names(toolset) == snapshot(
        [
            "get_http_status",
            "get_http_status_2",
            "repos_list_for_org",
            "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
            "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx_2",
            "_2fast",
            "get_p6",
        ]
    )


class Counting(set[str]):
    """Counts how often it is asked for something."""

    asked = 0

    def __contains__(self, item: object) -> bool:
        self.asked += 1
        return super().__contains__(item)


@pytest.mark.parametrize("longest", [60, None])
@pytest.mark.parametrize(
    "wanted",
    [
        ["go"] * 20_000,
        ["go", "go_2", "go_7", *["go"] * 20_000],
        # Cut for a number, they all want the same.
        [f"{'x' * 55}{number:05}" for number in range(10_000)] * 2,
    ],
    ids=["same", "numbered", "long"],
)
def test_many_operations_of_one_name_are_named_as_quickly_as_one(
    wanted: list[str], longest: int | None
) -> None:
    names = Names(longest)
    names._taken = counting = Counting()
    given = [names.take(name) for name in wanted]
    assert len({*given}) == len(wanted)
    assert counting.asked < 12 * len(wanted)
    assert longest is None or max(map(len, given)) <= longest
    if wanted[1] == "go_2":
        assert given[:8] == ["go", "go_2", "go_7", "go_3", "go_4", "go_5", "go_6", "go_8"]


def test_many_arguments_and_schemas_of_one_name_are_told_apart() -> None:
    queries: list[dict[str, Any]] = [
        {"name": f"a{'-' * number}", "in": place, "schema": {"$ref": f"#/s/{number}/A"}}
        for number in range(3)
        for place in ("query", "header")
    ]
    schema: dict[str, Any] = {"type": "object"}
    made = document({"parameters": queries}, s=[{"A": schema}] * 3)
    told = OpenAPIToolset(spec_dict=made).get_tool("act").spec.parameters
    assert sorted(told["properties"]) == [
        "a",
        "a_header",
        "a_header_2",
        "a_header_3",
        "a_query",
        "a_query_2",
    ]
    assert sorted(told["$defs"]) == ["A", "A_2", "A_3"]


def test_a_document_and_its_files_together_have_a_size(tmp_path: Path) -> None:
    query = {"name": "q", "in": "query", "schema": {"$ref": "other.json"}}
    whole = json.dumps(document({"parameters": [query]}))
    (tmp_path / "api.json").write_text(whole)
    (tmp_path / "other.json").write_text('{"type": "string"}')
    enough = len(whole) + len('{"type": "string"}')
    fits = OpenAPIToolset(tmp_path / "api.json", max_document_bytes=enough)
    assert parameters(fits.get_tool("act")) == {"q": {"type": "string"}}
    less = OpenAPIToolset(tmp_path / "api.json", max_document_bytes=enough - 1)
    assert "other.json' is too large" in str(less.problems()["act"])
    with pytest.raises(UsageError, match=r"api.json' is too large"):
        OpenAPIToolset(tmp_path / "api.json", max_document_bytes=len(whole) - 1)


async def test_a_document_on_the_web_and_its_files_have_a_size_too(server: Recorder) -> None:
    query = {"name": "q", "in": "query", "schema": {"$ref": "other.json"}}
    whole = document({"parameters": [query]})
    size = len(JSONResponse(whole).body)
    for most, told in ((size + 17, {"q": {"type": "string"}}), (size + 16, {"q": {}})):
        server.replies += [JSONResponse(whole), JSONResponse({"type": "string"})]
        toolset = OpenAPIToolset(f"{server.url}/api.json", max_document_bytes=most)
        [tool] = await toolset.list_tools()
        assert parameters(tool) == told
    server.replies.append(JSONResponse(whole))
    toolset = OpenAPIToolset(f"{server.url}/api.json", max_document_bytes=size - 1, required=True)
    with pytest.raises(ToolError, match="Cannot fetch"):
        await toolset.list_tools()


def test_references_lead_into_other_files_and_back(tmp_path: Path) -> None:
    (tmp_path / "schemas").mkdir()
    (tmp_path / "schemas" / "pet.yaml").write_text(
        "Pet: {type: object, properties: {friend: {$ref: '#/Pet'}, "
        "tag: {$ref: '../api.yaml#/components/schemas/Tag'}}}"
    )
    (tmp_path / "api.yaml").write_text(
        yaml.safe_dump(
            document(
                {"requestBody": {"content": {"application/json": {"schema": {
                    "type": "object", "properties": {"pet": {"$ref": "schemas/pet.yaml#/Pet"}}}}}}},
                method="post",
                components={"schemas": {"Tag": {"type": "string", "maxLength": 3}}},
            )
        )
    )  # fmt: skip
    schema = OpenAPIToolset(tmp_path / "api.yaml").get_tool("act").spec.parameters
    assert schema == snapshot(
        {
            "type": "object",
            "properties": {"pet": {"$ref": "#/$defs/Pet"}},
            "additionalProperties": False,
            "$defs": {
                "Pet": {
                    "type": "object",
                    "properties": {
                        "friend": {"$ref": "#/$defs/Pet"},
                        "tag": {"maxLength": 3, "type": "string"},
                    },
                }
            },
        }
    )


@pytest.mark.parametrize(
    "ref", ["../secret.yaml#/A", "/etc/passwd", "http://127.0.0.1:1/x.yaml", "#/nowhere", "#/a/b"]
)
def test_references_that_lead_outside_or_nowhere_are_left_out_and_reported(
    tmp_path: Path, ref: str
) -> None:
    folder = tmp_path / "api"
    folder.mkdir()
    (tmp_path / "secret.yaml").write_text("A: {type: string, description: secret}")
    query = {"name": "q", "in": "query", "schema": {"$ref": ref}}
    (folder / "api.json").write_text(json.dumps(document({"parameters": [query]})))
    toolset = OpenAPIToolset(folder / "api.json")
    assert parameters(toolset.get_tool("act")) == {"q": {}}
    assert list(toolset.problems()) == ["act"]


async def test_a_registry_lists_several_documents_under_their_names() -> None:
    registry = ApiRegistry()
    registry.add("shop", PETS, tool_filter=["list_pets"])
    registry.add("zoo", PETS, tool_filter=["create_pet"])
    assert [tool.name for tool in await registry.list_tools()] == [
        "shop_list_pets",
        "zoo_create_pet",
    ]
    assert registry.names == ["shop", "zoo"]
    with pytest.raises(UsageError, match="'shop' already"):
        registry.add("shop", PETS)
    with pytest.raises(UsageError, match="no API 'farm'; there are: shop, zoo"):
        registry.get_toolset("farm")
