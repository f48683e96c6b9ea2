"""API Hub tools, with the official client against a server of its published protocol."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import grpc
import pytest
from google.cloud import apihub_v1 as apihub
from google.cloud.apihub_v1.services.api_hub.transports import ApiHubGrpcTransport
from tests.backends._no_network import Wire, reachable
from tests.sources.cloud._calling import ask
from tests.sources.cloud._grpc import Rpc, serving

from toolwright.errors import ToolError, UsageError
from toolwright.sources import APIHubToolset

pytestmark = pytest.mark.anyio

API = "projects/p/locations/l/apis/pets"
DOCUMENT = {
    "openapi": "3.0.0",
    "servers": [{"url": "https://pets.example"}],
    "paths": {"/pets": {"get": {"operationId": "listPets"}, "post": {"operationId": "addPet"}}},
}


class Hub:
    """An API with two versions, listed on two pages, the newer of which has a document."""

    text: str | None = None
    """What is registered in place of the document."""

    def list_versions(self, request: apihub.ListVersionsRequest, context: Any) -> Any:
        if request.parent != API:
            context.abort(grpc.StatusCode.NOT_FOUND, f"{request.parent} was not found")
        number = 2 if request.page_token else 1
        version = apihub.Version(
            name=f"{API}/versions/v{number}", create_time=datetime(2020 + number, 1, 1, tzinfo=UTC)
        )
        token = "" if request.page_token else "next"
        return apihub.ListVersionsResponse(versions=[version], next_page_token=token)

    def list_specs(self, request: apihub.ListSpecsRequest, context: Any) -> Any:
        if request.parent.endswith("/v1"):
            return apihub.ListSpecsResponse()
        return apihub.ListSpecsResponse(specs=[apihub.Spec(name=f"{request.parent}/specs/openapi")])

    def contents(self, request: apihub.GetSpecContentsRequest, context: Any) -> Any:
        if request.name != f"{API}/versions/v2/specs/openapi":
            context.abort(grpc.StatusCode.PERMISSION_DENIED, "not yours")
        text = json.dumps(DOCUMENT) if self.text is None else self.text
        return apihub.SpecContents(contents=text.encode(), mime_type="text/json")


@pytest.fixture
def client() -> Iterator[apihub.ApiHubClient]:
    hub = Hub()
    methods = {
        "ListVersions": Rpc(
            apihub.ListVersionsRequest, apihub.ListVersionsResponse, hub.list_versions
        ),
        "ListSpecs": Rpc(apihub.ListSpecsRequest, apihub.ListSpecsResponse, hub.list_specs),
        "GetSpecContents": Rpc(apihub.GetSpecContentsRequest, apihub.SpecContents, hub.contents),
    }
    with (
        serving({"google.cloud.apihub.v1.ApiHub": methods}) as address,
        grpc.insecure_channel(address) as channel,
    ):
        yield apihub.ApiHubClient(transport=ApiHubGrpcTransport(channel=channel))


@pytest.mark.row("004-CA1")
@pytest.mark.parametrize("name", [API, f"{API}/versions/v2", f"{API}/versions/v2/specs/openapi"])
async def test_a_registered_api_becomes_tools(client: apihub.ApiHubClient, name: str) -> None:
    toolset = APIHubToolset(
        apihub_resource_name=name, apihub_client=client, tool_name_prefix="hub",
        tool_filter=["list_pets"],
    )  # fmt: skip
    assert [tool.name for tool in await toolset.list_tools()] == ["hub_list_pets"]
    assert toolset.get_tool("add_pet").operation.path == "/pets"
    await toolset.close()


@pytest.mark.parametrize(
    ("name", "told"),
    [
        (f"{API}s", "was asked for .*was not found"),
        (f"{API}/versions/v1", "has no OpenAPI document"),
        (f"{API}/versions/v3/specs/x", "was asked for .*not yours"),
    ],
)
async def test_what_the_hub_refuses_is_told(
    client: apihub.ApiHubClient, name: str, told: str
) -> None:
    toolset = APIHubToolset(apihub_resource_name=name, apihub_client=client, required=True)
    with pytest.raises(ToolError, match=told):
        await toolset.list_tools()


@pytest.mark.parametrize("text", ["<html>", '{"openapi": "9"}', "", "- 1"])
async def test_what_is_registered_and_is_no_document_ends_no_run(
    client: apihub.ApiHubClient, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setattr(Hub, "text", text)
    toolset = APIHubToolset(apihub_resource_name=API, apihub_client=client)
    assert await toolset.list_tools() == []


async def test_a_registered_api_says_nothing_about_this_machine(
    client: apihub.ApiHubClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(DOCUMENT, "servers", [{"url": "http://127.0.0.1:8080"}])
    wire = Wire()
    toolset = APIHubToolset(
        apihub_resource_name=API, apihub_client=client, allow_private=reachable(wire)
    )
    assert "not a public address" in (await ask(toolset, "list_pets")).text
    assert wire.connected == []


@pytest.mark.parametrize("name", ["pets", "projects/p/apis/pets", f"{API}/versions"])
def test_a_name_of_another_kind_is_refused_at_once(name: str) -> None:
    with pytest.raises(UsageError, match="must be like projects/P/locations/L/apis/A"):
        APIHubToolset(apihub_resource_name=name)


def test_a_broken_key_is_refused_without_showing_it() -> None:
    toolset = APIHubToolset(
        apihub_resource_name=API, service_account_json='{"private_key": "SECRET"}'
    )
    with pytest.raises(UsageError, match="not a usable key") as caught:
        toolset.get_tool("list_pets")
    assert "SECRET" not in str(caught.value)
