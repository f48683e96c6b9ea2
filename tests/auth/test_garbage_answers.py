"""A provider that answers nonsense: the sign-in fails with a reason, and nothing else does."""

import base64
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from toolwright.backends.auth import AuthlibFlows, MemoryCredentials
from toolwright.errors import ToolError
from toolwright.messages import AuthConfig, AuthCredential, OpenIdConnectWithConfig, Scope

pytestmark = pytest.mark.anyio

ADA = Scope(app_name="app", user_id="ada", session_id="s1")
DOCUMENTS = [
    b"", b"{", b"\xff\xfe", b"null", b"5", b"[]", b'"text"', b"[" * 100_000, b'{"a":' * 100_000,
    b"9" * 5000, b"NaN",
]  # fmt: skip
VALUES: list[Any] = [5, 1e300, True, [], [5], {}, {"a": []}, "", "http://[::1", "a\0b"]
ENDLESS = float("inf")


class Nonsense:
    """A provider on loopback whose every answer can be replaced."""

    def __init__(self) -> None:
        self.answers: dict[str, bytes] = {}
        self.packed = ""
        """The path whose answer is said to be packed."""
        answers, provider = self.answers, self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                body = answers[self.path]
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                if self.path == provider.packed:
                    self.send_header("Content-Encoding", "gzip")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_POST = do_GET

            def log_message(self, format: str, *args: Any) -> None: ...

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(
            target=self.server.serve_forever, kwargs={"poll_interval": 0.01}
        )
        self.thread.start()

    def discovery(self) -> dict[str, Any]:
        names = ("token_endpoint", "authorization_endpoint", "jwks_uri")
        places = {name: f"{self.address}/{name}" for name in names}
        return {"issuer": self.address, "code_challenge_methods_supported": ["S256"], **places}

    def answer(self, **bodies: Any) -> None:
        known = {"discovery": self.discovery(), "token_endpoint": {"access_token": "SECRET-1"},
                 "jwks_uri": {"keys": []}}  # fmt: skip
        for name, body in (known | bodies).items():
            path = "/.well-known/openid-configuration" if name == "discovery" else f"/{name}"
            self.answers[path] = body if isinstance(body, bytes) else json.dumps(body).encode()

    async def sign_in(self) -> None:
        scheme = OpenIdConnectWithConfig(
            open_id_connect_url=f"{self.address}/.well-known/openid-configuration",
            scopes=["openid"],
        )
        client = {
            "client_id": "c",
            "client_secret": "SECRET-2",
            "redirect_uri": "http://127.0.0.1/",
        }
        raw = AuthCredential.model_validate({"auth_type": "openIdConnect", "oauth2": client})
        config = AuthConfig(auth_scheme=scheme, raw_auth_credential=raw, credential_key="k")
        flows = AuthlibFlows(MemoryCredentials())
        shown = await flows.begin(ADA, config)
        await flows.finish(ADA, config, f"http://127.0.0.1/?code=SECRET-3&state={shown['state']}")

    async def refused(self, **bodies: Any) -> None:
        """Whatever is wrong, it is said without what was secret in it, and shortly."""
        self.answer(**bodies)
        with pytest.raises(ToolError) as told:
            await self.sign_in()
        assert "SECRET" not in str(told.value)
        assert len(str(told.value)) < 1000


@pytest.fixture(scope="module")
def provider() -> Iterator[Nonsense]:
    made = Nonsense()
    yield made
    made.server.shutdown()
    made.thread.join()
    made.server.server_close()


def token(claims: bytes) -> str:
    parts = (b'{"alg":"RS256"}', claims, b"signature")
    return ".".join(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts)


@pytest.mark.parametrize("name", ["discovery", "token_endpoint", "jwks_uri"])
@pytest.mark.parametrize("number", range(len(DOCUMENTS)))
async def test_a_document_that_is_no_such_document(
    provider: Nonsense, name: str, number: int
) -> None:
    tokens = {"access_token": "SECRET-1", "id_token": token(b"{}")}
    await provider.refused(**{"token_endpoint": tokens, name: DOCUMENTS[number]})


@pytest.mark.parametrize("name", ["discovery", "token_endpoint", "jwks_uri"])
async def test_a_document_that_has_no_end(provider: Nonsense, name: str) -> None:
    tokens = {"access_token": "SECRET-1", "id_token": token(b"{}")}
    provider.answer(**{"token_endpoint": tokens, name: b" " * 1_100_000 + b"{}"})
    with pytest.raises(ToolError, match="more than 1,048,576 bytes"):
        await provider.sign_in()


@pytest.mark.parametrize("name", ["discovery", "token_endpoint", "jwks_uri"])
async def test_a_document_that_is_packed_though_nobody_asked_for_it(
    provider: Nonsense, name: str
) -> None:
    provider.answer(token_endpoint={"access_token": "SECRET-1", "id_token": token(b"{}")})
    path = "/.well-known/openid-configuration" if name == "discovery" else f"/{name}"
    provider.packed = path
    try:
        with pytest.raises(ToolError, match="it is packed"):
            await provider.sign_in()
    finally:
        provider.packed = ""


@pytest.mark.parametrize("name", ["issuer", "token_endpoint", "authorization_endpoint", "jwks_uri"])
async def test_an_address_that_is_none(provider: Nonsense, name: str) -> None:
    for value in VALUES:
        found = {**provider.discovery(), name: value}
        tokens = {"access_token": "SECRET-1", "id_token": token(b"{}")}
        await provider.refused(discovery=found, token_endpoint=tokens)


async def test_methods_that_are_no_list(provider: Nonsense) -> None:
    for value in (5, True, {}, {"S256": 1}, "S256"):
        found = {**provider.discovery(), "code_challenge_methods_supported": value}
        await provider.refused(discovery=found)


@pytest.mark.parametrize("name", ["access_token", "refresh_token", "id_token", "expires_in", "expires_at",
                                  "token_type", "scope", "error", "error_description"])  # fmt: skip
async def test_a_token_answer_with_a_value_of_the_wrong_kind(provider: Nonsense, name: str) -> None:
    for value in [*VALUES, ENDLESS]:
        # Without an ID token it is refused in the end, whatever else is right about it.
        await provider.refused(token_endpoint={"access_token": "SECRET-1", name: value})


@pytest.mark.parametrize("number", range(len(DOCUMENTS)))
async def test_an_id_token_whose_claims_are_none(provider: Nonsense, number: int) -> None:
    tokens = {"access_token": "SECRET-1", "id_token": token(DOCUMENTS[number])}
    without_keys = {**provider.discovery(), "jwks_uri": None}
    await provider.refused(token_endpoint=tokens)
    await provider.refused(token_endpoint=tokens, discovery=without_keys)
