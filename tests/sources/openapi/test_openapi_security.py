"""Signing in: schemes from the document, credentials from the developer or the user."""

import base64
import ssl
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from dirty_equals import IsPartialDict
from starlette.responses import JSONResponse, Response
from tests.sources.openapi._calling import act, document, parameters
from tests.sources.openapi._certificates import self_signed
from tests.sources.openapi._recorder import Recorder

from toolwright.agent import Agent, Runner
from toolwright.messages import (
    AuthCredential,
    AuthCredentialTypes,
    CustomAuthScheme,
    HttpAuth,
    HttpCredentials,
    encode_event,
)
from toolwright.sources import (
    OpenAPIToolset,
    service_account_dict_to_scheme_credential,
    token_to_scheme_credential,
)
from toolwright.testing import ScriptedModel, call

pytestmark = pytest.mark.anyio

SCHEMES: dict[str, Any] = {
    "key": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
    "query": {"type": "apiKey", "in": "query", "name": "api key"},
    "cookie": {"type": "apiKey", "in": "cookie", "name": "sid"},
    "basic": {"type": "http", "scheme": "basic"},
    "bearer": {"type": "http", "scheme": "bearer"},
}
KEY = AuthCredential(auth_type=AuthCredentialTypes.API_KEY, api_key="s3cret-key")


def http(scheme: str, **credentials: str) -> AuthCredential:
    given = HttpCredentials(**credentials)
    return AuthCredential(
        auth_type=AuthCredentialTypes.HTTP, http=HttpAuth(scheme=scheme, credentials=given)
    )


def secured(server: Recorder, *wanted: dict[str, list[str]], **settings: Any) -> OpenAPIToolset:
    spec = document(
        {"security": list(wanted)},
        servers=[{"url": server.url}],
        components={"securitySchemes": SCHEMES},
    )
    return OpenAPIToolset(spec_dict=spec, **settings)


@pytest.mark.row("004-O5a")
async def test_a_key_goes_where_the_documents_scheme_wants_it(server: Recorder) -> None:
    await act(secured(server, {"key": []}, auth_credential=KEY))
    await act(secured(server, {"query": []}, auth_credential=KEY))
    await act(secured(server, {"cookie": []}, auth_credential=KEY))
    by_header, by_query, by_cookie = server.seen
    assert by_header.headers["x-api-key"] == "s3cret-key"
    assert by_query.query == "api%20key=s3cret-key"
    assert by_cookie.headers["cookie"] == "sid=s3cret-key"


@pytest.mark.parametrize(
    ("scheme", "name"), [("key", "x-api-KEY"), ("query", "API key"), ("cookie", "SID")]
)
async def test_the_place_of_a_key_is_not_the_models_to_fill(
    server: Recorder, scheme: str, name: str
) -> None:
    spec = document(
        {
            "security": [{scheme: []}],
            "parameters": [{"name": name, "in": SCHEMES[scheme]["in"], "schema": {}}],
        },
        components={"securitySchemes": SCHEMES},
    )
    [tool] = await OpenAPIToolset(spec_dict=spec).list_tools()
    assert parameters(tool) == {}


async def test_a_key_replaces_what_the_model_put_in_its_place(server: Recorder) -> None:
    """The keys of an object become names in the query, and servers may take the first of a name."""
    more = {"name": "more", "in": "query", "schema": {"type": "object"}}
    spec = document(
        {"security": [{"query": []}], "parameters": [more]},
        servers=[{"url": server.url}],
        components={"securitySchemes": SCHEMES},
    )
    toolset = OpenAPIToolset(spec_dict=spec, auth_credential=KEY)
    await act(toolset, more={"API key": "MODEL", "color": "red"})
    assert server.seen[0].query == "color=red&api%20key=s3cret-key"


async def test_the_alternative_that_fits_the_credential_is_chosen(server: Recorder) -> None:
    wanted: list[dict[str, list[str]]] = [{"key": []}, {}, {"basic": []}, {"bearer": []}]
    await act(secured(server, *wanted, auth_credential=http("bearer", token="tok-123")))
    await act(secured(server, *wanted, auth_credential=http("basic", username="a", password="b")))
    sent = [seen.headers["authorization"] for seen in server.seen]
    assert sent == ["Bearer tok-123", f"Basic {base64.b64encode(b'a:b').decode()}"]


async def test_a_given_scheme_holds_for_every_operation(server: Recorder) -> None:
    scheme, credential = token_to_scheme_credential(
        token_type="apikey", location="header", name="X-Own", credential_value="own-secret"
    )
    await act(secured(server, {"key": []}, auth_scheme=scheme, auth_credential=credential))
    assert server.last.headers == IsPartialDict({"x-own": "own-secret"})
    assert "x-api-key" not in server.last.headers


async def test_operations_that_allow_anyone_ask_nobody(server: Recorder) -> None:
    assert (await act(secured(server, {"key": []}, {}))).status == "ok"
    assert "x-api-key" not in server.last.headers


@pytest.mark.row("004-O8")
async def test_dynamic_headers_come_from_the_context_and_cover_what_the_document_wants(
    server: Recorder,
) -> None:
    toolset = secured(
        server,
        {"key": []},
        header_provider=lambda ctx: {"x-api-key": "from-context", "X-Agent": ctx.agent_name},
    )
    assert (await act(toolset)).status == "ok"
    assert server.last.headers == IsPartialDict({"x-api-key": "from-context", "x-agent": "caller"})


async def test_the_user_is_asked_for_a_key_once_and_it_is_never_shown(server: Recorder) -> None:
    toolset = secured(server, {"key": []})
    server.replies.append(JSONResponse({"you": "sent s3cret-key"}))
    agent = Agent(
        name="a", model=ScriptedModel(call("act"), "done", call("act"), "done"), tools=[toolset]
    )
    runner = Runner(agent, credentials="memory://")
    paused = await runner.run("go", session_id="s1")
    (pending,) = paused.pending
    assert (paused.status, pending.kind) == ("paused", "credential")
    assert pending.payload == IsPartialDict({"type": "apiKey", "name": "X-API-Key"})
    assert server.seen == []

    await runner.answer("s1", pending.call_id, "s3cret-key")
    done = await runner.resume("s1")
    again = await runner.run("once more", session_id="s1")
    assert (done.status, again.status) == ("done", "done")
    assert [seen.headers["x-api-key"] for seen in server.seen] == ["s3cret-key"] * 2
    kept = [encode_event(event) for result in (paused, done, again) for event in result.events]
    assert not any("s3cret-key" in str(event) for event in kept)


async def test_two_schemes_wanted_together_are_both_asked_for(server: Recorder) -> None:
    toolset = secured(server, {"key": [], "query": []})
    agent = Agent(name="a", model=ScriptedModel(call("act"), "done"), tools=[toolset])
    runner = Runner(agent, credentials="memory://")
    result = await runner.run("go", session_id="s1")
    for secret in ("first-secret", "second-secret"):
        (pending,) = result.pending
        await runner.answer("s1", pending.call_id, secret)
        result = await runner.resume("s1")
    assert result.status == "done"
    assert server.last.headers["x-api-key"] == "first-secret"
    assert server.last.query == "api%20key=second-secret"


async def test_swagger_2_security_is_understood(server: Recorder) -> None:
    spec = {
        "swagger": "2.0",
        "host": server.url.removeprefix("http://"),
        "schemes": ["http"],
        "basePath": "/v2",
        "securityDefinitions": {"login": {"type": "basic"}},
        "security": [{"login": []}],
        "paths": {"/a": {"get": {"operationId": "act"}}},
    }
    await act(
        OpenAPIToolset(spec_dict=spec, auth_credential=http("basic", username="u", password="pass"))
    )
    assert server.last.path == "/v2/a"
    assert server.last.headers["authorization"].startswith("Basic ")


async def test_a_scheme_given_by_hand_needs_no_document_entry(server: Recorder) -> None:
    scheme = CustomAuthScheme.model_validate({"type": "http", "scheme": "bearer"})
    toolset = OpenAPIToolset(
        spec_dict=document({}, servers=[{"url": server.url}]),
        auth_scheme=scheme,
        auth_credential=http("bearer", token="tok-123"),
    )
    await act(toolset)
    assert server.last.headers["authorization"] == "Bearer tok-123"


@pytest.mark.row("004-O9")
async def test_a_certificate_of_ones_own_is_trusted_only_when_given(tmp_path: Path) -> None:
    bundle = self_signed(tmp_path)
    context = ssl.create_default_context(cafile=bundle)
    spec = document({})
    with Recorder().running(bundle) as server:
        refused = await act(OpenAPIToolset(spec_dict=spec, server_url=server.url))
        assert (refused.status, server.seen) == ("error", [])
        assert "certificate" in refused.text.lower()
        for trusted in (bundle, Path(bundle), context, False):
            toolset = OpenAPIToolset(spec_dict=spec, server_url=server.url, ssl_verify=trusted)
            assert (await act(toolset)).status == "ok"
            await toolset.close()


@pytest.mark.row("004-O6")
async def test_a_service_account_signs_in_by_itself(server: Recorder) -> None:
    private = rsa.generate_private_key(65537, 2048)
    pem = private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    scheme, credential = service_account_dict_to_scheme_credential(
        config={
            "type": "service_account",
            "client_email": "agent@shop.example",
            "private_key": pem,
            "token_uri": f"{server.url}/token",
        },
        scopes=["https://www.googleapis.com/auth/cloud-platform"],
    )
    server.replies.append(JSONResponse({"access_token": "from-account", "expires_in": 3600}))
    toolset = OpenAPIToolset(
        spec_dict=document({}),
        server_url=server.url,
        auth_scheme=scheme,
        auth_credential=credential,
    )
    model = ScriptedModel(call("act"), call("act"), "done")
    runner = Runner(Agent(name="a", model=model, tools=[toolset]), credentials="memory://")
    assert (await runner.run("go")).status == "done"
    assert [seen.path for seen in server.seen] == ["/token", "/things", "/things"]
    assert server.last.headers["authorization"] == "Bearer from-account"


async def test_an_answer_that_is_packed_badly_is_told_as_such(server: Recorder) -> None:
    server.replies.append(Response(b"not gzip at all", headers={"Content-Encoding": "gzip"}))
    result = await act(OpenAPIToolset(spec_dict=document({}, servers=[{"url": server.url}])))
    assert result.status == "error"
    assert "sent an answer that cannot be unpacked" in result.text
