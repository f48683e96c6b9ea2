"""Which addresses an OpenAPI document can have called. Nothing is sent anywhere but in memory."""

import gzip
import json
import tracemalloc
from typing import Any

import pytest
from tests.backends._no_network import (
    HOSTILE,
    HOSTILE_NAMES,
    OK,
    PUBLIC,
    Names,
    Wire,
    moved,
    reachable,
)
from tests.sources.openapi._calling import act, document

from toolwright import Agent, Runner
from toolwright.errors import ToolError
from toolwright.messages import (
    AuthCredential,
    AuthCredentialTypes,
    OAuth2Auth,
    ToolEnded,
    ToolResult,
)
from toolwright.sources import OpenAPIToolset
from toolwright.sources.openapi import CallLimits
from toolwright.testing import ScriptedModel, call

pytestmark = pytest.mark.anyio
LOCAL = ["localhost", "LocalHost.", "127.0.0.1", "127.255.255.254", "[::1]"]
LOOPBACK = Names({"localhost": ["127.0.0.1"]})


def served(spec: dict[str, Any], *more: str) -> bytes:
    body = json.dumps(spec).encode()
    head = ["HTTP/1.1 200 OK", "Content-Type: application/json", *more]
    return "\r\n".join([*head, f"Content-Length: {len(body)}", "", ""]).encode() + body


@pytest.mark.parametrize("host", [host for host in HOSTILE.values() if host not in LOCAL], ids=repr)
async def test_a_document_that_is_handed_over_opens_no_special_address(host: str) -> None:
    wire = Wire()
    spec = document({}, servers=[{"url": f"http://{host}/v1"}])
    result = await act(OpenAPIToolset(spec_dict=spec, allow_private=reachable(wire, LOOPBACK)))
    assert result.status == "error"
    assert wire.connected == []


@pytest.mark.parametrize("host", LOCAL)
async def test_its_own_server_may_be_this_machine_if_it_says_so_plainly(host: str) -> None:
    wire = Wire()
    spec = document({}, servers=[{"url": f"http://{host}:8080"}])
    result = await act(OpenAPIToolset(spec_dict=spec, allow_private=reachable(wire, LOOPBACK)))
    assert (result.status, result.text) == ("ok", "hello")


@pytest.mark.parametrize("name", ["intranet", "printer.local", "nas.lan", "a.test", "x.localhost"])
@pytest.mark.parametrize("found", HOSTILE_NAMES.values(), ids=HOSTILE_NAMES)
async def test_no_name_is_plainly_local_however_it_ends(name: str, found: list[str]) -> None:
    wire = Wire()
    spec = document({}, servers=[{"url": f"http://{name}/"}])
    allow = reachable(wire, Names({name: found}))
    assert (await act(OpenAPIToolset(spec_dict=spec, allow_private=allow))).status == "error"
    assert wire.connected == []


@pytest.mark.parametrize(
    "servers",
    [
        [{"url": "https://shop.example"}, {"url": "http://localhost:9"}],
        [{"url": "http://shop.example"}, {"url": "http://127.0.0.1:9"}],
    ],
)
async def test_a_local_server_counts_only_where_it_is_the_one_that_is_called(
    servers: list[dict[str, str]],
) -> None:
    local = servers[1]["url"]
    wire = Wire(moved(local), OK)
    names = Names({"shop.example": [PUBLIC], "localhost": ["127.0.0.1"]})
    toolset = OpenAPIToolset(
        spec_dict=document({}, servers=[{**servers[0], "url": "http://shop.example"}, servers[1]]),
        allow_private=reachable(wire, names),
        limits=CallLimits(redirects="any"),
    )
    assert "not a public address" in (await act(toolset)).text
    assert wire.connected == [PUBLIC]


@pytest.mark.parametrize("host", ["wiki.internal", "10.0.0.7", "localhost"])
async def test_the_developers_own_word_opens_a_private_server(host: str) -> None:
    wire = Wire()
    names = Names({"wiki.internal": ["10.0.0.7"], "localhost": ["127.0.0.1"]})
    spec = document({}, servers=[{"url": "https://elsewhere.example"}])
    allow = reachable(wire, names)
    result = await act(
        OpenAPIToolset(spec_dict=spec, server_url=f"http://{host}", allow_private=allow)
    )
    assert result.text == "hello"


async def test_but_not_a_clouds_credentials() -> None:
    wire, names = Wire(), Names({"wiki.internal": ["169.254.169.254"]})
    toolset = OpenAPIToolset(
        spec_dict=document({}),
        server_url="http://wiki.internal",
        allow_private=reachable(wire, names),
    )
    assert "metadata of most clouds" in (await act(toolset)).text
    assert wire.connected == []


@pytest.mark.parametrize("host", HOSTILE.values(), ids=HOSTILE)
async def test_a_redirect_leads_to_no_special_address(host: str) -> None:
    wire = Wire(moved(f"http://{host}/"), OK)
    names = Names({"shop.example": [PUBLIC], "localhost": ["127.0.0.1"]})
    toolset = OpenAPIToolset(
        spec_dict=document({}, servers=[{"url": "http://shop.example"}]),
        allow_private=reachable(wire, names),
        limits=CallLimits(redirects="any"),
    )
    assert (await act(toolset)).status == "error"
    assert wire.connected == [PUBLIC]


@pytest.mark.parametrize("host", HOSTILE.values(), ids=HOSTILE)
async def test_a_document_from_the_web_opens_no_special_address(host: str) -> None:
    wire = Wire(served(document({}, servers=[{"url": f"http://{host}/"}])), OK)
    names = Names({"docs.example": [PUBLIC], "localhost": ["127.0.0.1"]})
    toolset = OpenAPIToolset(
        "http://docs.example/openapi.json", allow_private=reachable(wire, names)
    )
    assert (await act(toolset)).status == "error"
    assert wire.connected == [PUBLIC]


@pytest.mark.parametrize("host", HOSTILE.values(), ids=HOSTILE)
async def test_the_address_of_a_document_redirects_to_no_special_address(host: str) -> None:
    wire = Wire(moved(f"http://{host}/"), served(document({})))
    names = Names({"docs.example": [PUBLIC], "localhost": ["127.0.0.1"]})
    toolset = OpenAPIToolset(
        "http://docs.example/openapi.json", allow_private=reachable(wire, names), required=True
    )
    with pytest.raises(ToolError, match="Cannot fetch the OpenAPI document"):
        await toolset.list_tools()
    assert wire.connected == [PUBLIC]


LOGIN = "https://login.example"
CONFIGURATION = "/.well-known/openid-configuration"


def signing_in(place: str, url: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """A document that names an address for a sign-in, and what the provider says of itself."""
    flow = {"tokenUrl": f"{LOGIN}/token", "scopes": {}}
    openid = {"type": "openIdConnect", "grant_types_supported": ["client_credentials"]}
    discovered = {**openid, "openIdConnectUrl": LOGIN + CONFIGURATION}
    schemes: dict[str, dict[str, Any]] = {
        "token": {"type": "oauth2", "flows": {"clientCredentials": {**flow, "tokenUrl": url}}},
        "refresh": {"type": "oauth2", "flows": {"clientCredentials": {**flow, "refreshUrl": url}}},
        "discovery": {**openid, "openIdConnectUrl": url},
        "endpoint": {**openid, "token_endpoint": url},
        "discovered token": discovered,
        "discovered keys": discovered,
        "unrelated field": {
            "type": "oauth2",
            "flows": {"clientCredentials": flow},
            "openIdConnectUrl": url,
        },
    }
    said = {"issuer": LOGIN, "token_endpoint": f"{LOGIN}/token", "jwks_uri": f"{LOGIN}/keys"}
    said |= {"token_endpoint": url} if place == "discovered token" else {"jwks_uri": url}
    spec = document(
        {"security": [{"s": []}]},
        servers=[{"url": "http://docs.example"}],
        components={"securitySchemes": {"s": schemes[place]}},
    )
    return spec, said


async def signed_in(wire: Wire, names: Names) -> ToolResult:
    """What a model reads of a call to the operation of the document at docs.example."""
    client = OAuth2Auth(client_id="c", client_secret="s3cret")
    toolset = OpenAPIToolset(
        "http://docs.example/openapi.json",
        allow_private=reachable(wire, names),
        auth_credential=AuthCredential(auth_type=AuthCredentialTypes.OAUTH2, oauth2=client),
    )
    agent = Agent(name="caller", model=ScriptedModel(call("act"), "done"), tools=[toolset])
    result = await Runner(agent, credentials="memory://").run("go")
    return next(event.result for event in result.events if isinstance(event, ToolEnded))


@pytest.mark.parametrize("host", list(HOSTILE.values())[::4], ids=list(HOSTILE)[::4])
@pytest.mark.parametrize(
    "place", ["token", "refresh", "discovery", "endpoint", "discovered token", "discovered keys"]
)
async def test_nor_does_it_have_anybody_signed_in_there(place: str, host: str) -> None:
    spec, said = signing_in(place, f"https://{host}/")
    wire = Wire(served(spec), served(said), OK)
    names = Names({"docs.example": [PUBLIC], "localhost": ["127.0.0.1"], "login.example": [PUBLIC]})
    result = await signed_in(wire, names)
    assert result.status == "error"
    assert "Refused to connect" in result.text or "Nobody can be signed in" in result.text
    assert wire.connected == [PUBLIC] * (2 if place.startswith("discovered") else 1)


async def test_what_openid_calls_its_address_means_nothing_in_a_scheme_of_another_type() -> None:
    spec, _ = signing_in("unrelated field", "https://10.0.0.7/")
    wire = Wire(served(spec), served({"access_token": "t", "token_type": "Bearer"}), OK)
    names = Names({"docs.example": [PUBLIC], "login.example": ["1.1.1.1"]})
    assert (await signed_in(wire, names)).text == "hello"
    assert wire.connected == [PUBLIC, "1.1.1.1", PUBLIC]


async def test_a_name_to_sign_in_at_is_judged_again_when_it_is_connected_to() -> None:
    spec, _ = signing_in("token", "https://moving.example/token")
    wire = Wire(served(spec), served({"access_token": "t", "token_type": "Bearer"}))
    names = Names({"docs.example": [PUBLIC], "moving.example": [[PUBLIC], ["10.0.0.7"]]})
    assert "Refused to connect" in (await signed_in(wire, names)).text
    assert wire.connected == [PUBLIC]


@pytest.mark.parametrize("how", ["listed", "asked for by name"])
async def test_the_address_of_a_document_may_be_private_and_may_move(how: str) -> None:
    wire = Wire(moved("http://docs.example/v2.json"), served(document({})))
    names = Names({"wiki.internal": ["10.0.0.7"], "docs.example": [PUBLIC]})
    toolset = OpenAPIToolset(
        "http://wiki.internal/openapi.json", allow_private=reachable(wire, names)
    )
    if how == "listed":
        assert [tool.name for tool in await toolset.list_tools()] == ["act"]
    else:
        assert toolset.get_tool("act").name == "act"
    assert wire.connected == ["10.0.0.7", PUBLIC]


async def test_a_file_that_a_document_refers_to_does_not_move() -> None:
    spec = document({}, paths={"/a": {"$ref": "more.json#/a"}})
    wire = Wire(served(spec), moved("http://shop.example/more.json"), OK)
    names = Names({"docs.example": [PUBLIC], "shop.example": ["1.1.1.1"]})
    toolset = OpenAPIToolset(
        "http://docs.example/openapi.json", allow_private=reachable(wire, names)
    )
    assert await toolset.list_tools() == []
    assert wire.connected == [PUBLIC, PUBLIC]


async def test_a_document_that_is_not_there_is_told_with_its_status() -> None:
    wire = Wire(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
    allow = reachable(wire, Names({"docs.example": [PUBLIC]}))
    toolset = OpenAPIToolset("http://docs.example/openapi.json", allow_private=allow, required=True)
    with pytest.raises(ToolError, match=r"Cannot fetch .*404"):
        await toolset.list_tools()


async def test_a_small_answer_that_unpacks_to_a_large_one_is_not_unpacked() -> None:
    body = gzip.compress(b"x" * 40_000_000, compresslevel=1)
    head = f"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {len(body)}\r\n\r\n"
    wire = Wire(head.encode() + body)
    toolset = OpenAPIToolset(
        spec_dict=document({}, servers=[{"url": "http://shop.example"}]),
        allow_private=reachable(wire, Names({"shop.example": [PUBLIC]})),
        limits=CallLimits(max_response_bytes=1_000_000),
    )
    tracemalloc.start()
    try:
        result = await act(toolset)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert "larger than 1,000,000 bytes" in result.text
    assert most < 15_000_000
