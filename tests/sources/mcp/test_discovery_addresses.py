"""Where an MCP server can have us ask for its sign-in. Nothing is sent anywhere but in memory."""

import json
from typing import Any

import pytest
from tests.backends._no_network import HOSTILE, PUBLIC, Names, Wire, moved, reachable

from toolwright.errors import StoreError
from toolwright.sources import discover_sign_in

pytestmark = pytest.mark.anyio
URL = "https://mcp.example/mcp"
ISSUER = "http://login.example"
LOGIN = "1.1.1.1"
NAMES = {"mcp.example": [PUBLIC], "login.example": [LOGIN], "localhost": ["127.0.0.1"]}


def answer(status: int, body: dict[str, Any] | None = None, **headers: str) -> bytes:
    content = json.dumps(body or {}).encode()
    lines = [f"HTTP/1.1 {status} Answer", f"Content-Length: {len(content)}"]
    lines += ["Content-Type: application/json", "Connection: close"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + content


def asks_at(place: str) -> bytes:
    return answer(401, WWW_Authenticate=f'Bearer resource_metadata="{place}"')


def server(**named: Any) -> bytes:
    return answer(
        200,
        {
            "issuer": ISSUER,
            "authorization_endpoint": f"{ISSUER}/authorize",
            "token_endpoint": f"{ISSUER}/token",
            "registration_endpoint": f"{ISSUER}/register",
            "response_types_supported": ["code"],
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": True,
            **named,
        },
    )


RESOURCE = answer(200, {"resource": "http://mcp.example/mcp", "authorization_servers": [ISSUER]})
CLIENT = answer(201, {"client_id": "c", "redirect_uris": ["http://localhost/callback"]})


async def discover(wire: Wire, url: str = "http://mcp.example/mcp") -> Any:
    return await discover_sign_in(
        url,
        redirect_uri="http://localhost/callback",
        allow_private=reachable(wire, Names(NAMES)),
    )


async def test_a_server_that_signs_in_elsewhere_on_the_internet() -> None:
    wire = Wire(asks_at("http://mcp.example/about"), RESOURCE, server(), CLIENT)
    scheme, credential = await discover(wire)
    assert scheme.flows.token_url == f"{ISSUER}/token"
    # What was found out about it is kept, for the answer to be compared with.
    assert scheme.model_extra["issuer"].rstrip("/") == ISSUER
    assert scheme.model_extra["authorization_response_iss_parameter_supported"] is True
    assert credential.oauth2.client_id == "c"
    assert wire.connected == [PUBLIC, PUBLIC, LOGIN, LOGIN]


@pytest.mark.parametrize("host", HOSTILE.values(), ids=HOSTILE)
async def test_it_cannot_have_us_ask_a_special_address(host: str) -> None:
    wire = Wire(asks_at(f"http://{host}/about"), RESOURCE, server(), CLIENT)
    with pytest.raises(StoreError, match="cannot be signed in to"):
        await discover(wire)
    assert wire.connected == [PUBLIC]


@pytest.mark.parametrize("host", list(HOSTILE.values())[::4], ids=list(HOSTILE)[::4])
@pytest.mark.parametrize("endpoint", ["registration_endpoint", "token_endpoint"])
async def test_nor_send_secrets_to_one(endpoint: str, host: str) -> None:
    wire = Wire(
        asks_at("http://mcp.example/about"),
        RESOURCE,
        server(**{endpoint: f"http://{host}/there"}),
        CLIENT,
    )
    with pytest.raises(StoreError, match=r"cannot be signed in to|does not describe itself"):
        await discover(wire)
    assert set(wire.connected) <= {PUBLIC, LOGIN}


async def test_no_redirect_is_followed() -> None:
    wire = Wire(asks_at("http://mcp.example/about"), moved("http://127.0.0.1/"))
    with pytest.raises(StoreError, match="cannot be signed in to"):
        await discover(wire)
    assert set(wire.connected) == {PUBLIC}


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::1]"])
async def test_a_server_on_this_machine_may_sign_in_on_this_machine(host: str) -> None:
    url = f"http://{host}:9000/mcp"
    issuer = "http://127.0.0.1:9001"
    resource = answer(200, {"resource": url, "authorization_servers": [issuer]})
    named = {
        name: f"{issuer}/{name}"
        for name in ("authorization_endpoint", "token_endpoint", "registration_endpoint")
    }
    wire = Wire(asks_at(f"{url}/about"), resource, server(issuer=issuer, **named), CLIENT)
    await discover(wire, url)
    assert set(wire.connected) <= {"127.0.0.1", "::1"}


@pytest.mark.parametrize("methods", [None, [], ["plain"]])
async def test_a_server_without_pkce_is_not_signed_in_to(methods: list[str] | None) -> None:
    about = server(code_challenge_methods_supported=methods)
    wire = Wire(asks_at("http://mcp.example/about"), RESOURCE, about, CLIENT)
    with pytest.raises(StoreError, match="does not say that it supports PKCE"):
        await discover(wire)
