"""What is sent to a server as a secret does not come back in what it answers, nor is it logged."""

import base64
import json
import logging
import threading
from collections.abc import Callable, Generator, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx2
import pytest

from toolwright import Agent, Runner, Toolset, token_to_scheme_credential
from toolwright.messages import (
    AuthCredential,
    AuthCredentialTypes,
    CustomAuthScheme,
    OAuth2Auth,
    OAuth2Flows,
    Redactor,
    ToolEnded,
)
from toolwright.sources import McpToolset, StreamableHTTPConnectionParams, ToolboxToolset
from toolwright.sources._secret_names import secrets_among
from toolwright.testing import ScriptedModel, call

pytestmark = pytest.mark.anyio

SECRET = "correct-horse-battery"
RENEWED = "purple-staple-lantern"
CLIENT_SECRET = "seven-quiet-harbours"
TOOL = {
    "name": "q",
    "description": "Ask.",
    "inputSchema": {"type": "object", "properties": {}},
}
HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "x", "version": "1"},
}


TOKEN = {"token_type": "Bearer", "expires_in": 3600}


class _Echo(BaseHTTPRequestHandler):
    """An MCP server whose tool gives back the headers of its call; with "error" in its path, in one.

    At `/token` it signs in. With "renew" in its path it takes no call with the first token.
    """

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path.startswith("/token"):
            again = b"refresh_token" in body or self.server.given.get(self.path)  # type: ignore[attr-defined]
            self.server.given[self.path] = True  # type: ignore[attr-defined]
            return self._send(
                200, json.dumps({**TOKEN, "access_token": RENEWED if again else SECRET}).encode()
            )
        asked = json.loads(body)
        if "id" not in asked:
            return self._send(202, b"")
        if "renew" in self.path and asked["method"] == "tools/call" and SECRET in str(self.headers):
            return self._send(401, b"{}")
        echoed = "; ".join(f"{name}={value}" for name, value in self.headers.items())
        results = {
            "initialize": HELLO,
            "tools/list": {"tools": [TOOL]},
            "tools/call": {"content": [{"type": "text", "text": echoed}]},
        }
        answer: dict[str, Any] = {"jsonrpc": "2.0", "id": asked["id"]}
        if asked["method"] == "tools/call" and "error" in self.path:
            answer["error"] = {"code": -32000, "message": echoed}
        elif asked["method"] in results:
            answer["result"] = results[asked["method"]]
        else:
            answer["error"] = {"code": -32601, "message": "unsupported protocol version"}
        return self._send(200, json.dumps(answer).encode())

    def do_GET(self) -> None:
        self._send(405, b"")

    do_DELETE = do_GET

    def _send(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Echo)
    server.given = {}  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


async def token() -> str:
    return SECRET


class _Signing(httpx2.Auth):
    """An identity of one's own, as the SDK's `OAuthClientProvider` is one."""

    def auth_flow(
        self, request: httpx2.Request
    ) -> Generator[httpx2.Request, httpx2.Response, None]:
        request.headers["Authorization"] = f"Bearer {SECRET}"
        response = yield request
        if response.status_code == 401:
            request.headers["Authorization"] = f"Bearer {RENEWED}"
            yield request


def with_key(url: str, path: str) -> McpToolset:
    scheme, credential = token_to_scheme_credential("apikey", "header", "X-Who", SECRET)
    return McpToolset(f"{url}{path}", auth_scheme=scheme, auth_credential=credential)


def with_token(url: str, path: str) -> McpToolset:
    flows = OAuth2Flows(token_url=f"{url}/token{path}", grant="client_credentials")
    oauth2 = OAuth2Auth(client_id="me", client_secret=CLIENT_SECRET)
    return McpToolset(
        f"{url}{path}",
        auth_scheme=CustomAuthScheme(type="oauth2", flows=flows),
        auth_credential=AuthCredential(auth_type=AuthCredentialTypes.OAUTH2, oauth2=oauth2),
    )


WAYS: dict[str, Callable[[str], Toolset]] = {
    "headers of an MCP server": lambda url: McpToolset(
        StreamableHTTPConnectionParams(f"{url}/mcp", headers={"X-Api-Key": SECRET})
    ),
    "a header provider of an MCP server": lambda url: McpToolset(
        StreamableHTTPConnectionParams(f"{url}/mcp"),
        header_provider=lambda ctx: {"Authorization": f"Bearer {SECRET}"},
    ),
    "a key for an MCP server": lambda url: with_key(url, "/mcp"),
    "a key for an MCP server, in an error": lambda url: with_key(url, "/mcp-error"),
    "a token for an MCP server": lambda url: with_token(url, "/mcp"),
    "a token for an MCP server, in an error": lambda url: with_token(url, "/mcp-error"),
    "a renewed token for an MCP server": lambda url: with_token(url, "/mcp-renew"),
    "auth of an MCP server": lambda url: McpToolset(f"{url}/mcp", auth=_Signing()),
    "auth of an MCP server that renews": lambda url: McpToolset(
        f"{url}/mcp-renew", auth=_Signing()
    ),
    "credentials of a Toolbox server": lambda url: ToolboxToolset(url, credentials=token),
    "headers of a Toolbox server": lambda url: ToolboxToolset(
        url, additional_headers={"X-Api-Key": lambda: SECRET}
    ),
}


@pytest.mark.parametrize("way", WAYS)
async def test_a_secret_that_a_server_gives_back_is_in_no_event_no_history_and_no_log(
    way: str, address: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    model = ScriptedModel(call("q"), "done", call("q"), "done")
    agent = Agent(name="a", model=model, tools=[WAYS[way](address)])
    async with Runner(agent, credentials="memory://") as runner:
        # The second run uses the connection that the first one has opened and signed in.
        for session in ("one", "two"):
            result = await runner.run("go", session_id=session)
            history = await runner.history(session)
            [answer] = [event.result for event in result.events if isinstance(event, ToolEnded)]
            assert "=[redacted]" in answer.text.replace("Bearer ", "")
            shown = f"{result.events}{history}{model.requests}{caplog.text}"
            assert not [secret for secret in (SECRET, RENEWED, CLIENT_SECRET) if secret in shown]


PAIR = base64.b64encode(f"ada:{SECRET}".encode()).decode()
LATIN = base64.b64encode("ada:schlüssel-bund".encode("latin-1")).decode().rstrip("=")
PARTS = [
    ("Cookie", f"sid={SECRET}; csrf={RENEWED}", f"sid={SECRET}; csrf={RENEWED}"),
    ("Cookie", f"sid={SECRET}; csrf={RENEWED}", f"the first is {SECRET}"),
    ("Cookie", f"sid={SECRET};csrf={RENEWED}", f"the second is {RENEWED}"),
    ("Cookie", "sid=correct%20horse%2Fbattery; a=b", "correct horse/battery"),
    ("Authorization", f'Token token="{SECRET}", email="a@b"', f"you sent {SECRET}"),
    ("Authorization", f"Digest username='ada',response='{SECRET}'", f"you sent {SECRET}"),
    ("Authorization", f"Basic {PAIR}", f"the header was {PAIR}"),
    ("Authorization", f"Basic {PAIR}", f"user ada, password {SECRET}"),
    ("Authorization", f"basic {LATIN}", "password schlüssel-bund"),
    ("Authorization", "Bearer horse", "a horse"),
    ("Proxy-Authorization", f"Own {SECRET} v2", f"you sent {SECRET}"),
    ("X-Api-Key", f"{SECRET} ({RENEWED})", f"you sent {SECRET}"),
    ("X-Api-Key", "one two", "you sent one two"),
]


@pytest.mark.parametrize(("name", "value", "told"), PARTS)
def test_every_part_of_a_secret_header_is_hidden(name: str, value: str, told: str) -> None:
    redact = Redactor(secrets_among({name: value, "Accept": "everything/it-has"}))
    shown = redact.exact(told)
    assert "[redacted]" in shown
    for part in (SECRET, RENEWED, PAIR, "horse", "schlüssel-bund", "one two"):
        assert part not in shown


def test_the_words_that_say_what_kind_of_secret_follows_are_left() -> None:
    for value in ("Bearer x", "AWS4 SignedHeaders=host;date", "Basic ????", f"Basic {PAIR}"):
        text = "The Bearer of this is host to a Basic Token of ada, on that date."
        assert Redactor(secrets_among({"Authorization": value})).exact(text) == text
