"""Remote servers: streamable HTTP, the older SSE, headers per user, signing in."""

import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
import uvicorn
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from tests._npm import npm_program
from tests.sources._calling import StubRun, context, run_tool, tool_named
from tests.sources.mcp.conftest import EVERYTHING

from toolwright.errors import ToolError, UsageError
from toolwright.messages import (
    AuthConfig,
    AuthCredential,
    AuthCredentialTypes,
    CustomAuthScheme,
    HttpAuth,
    HttpCredentials,
    Scope,
)
from toolwright.sources import (
    McpToolset,
    SseConnectionParams,
    StdioConnectionParams,
    StdioServerParameters,
    StreamableHTTPConnectionParams,
)
from toolwright.tools import Services

pytestmark = pytest.mark.anyio
BEARER = CustomAuthScheme(type="http", scheme="bearer")


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@asynccontextmanager
async def everything_at(port: int, mode: str) -> AsyncIterator[None]:
    environment = {**os.environ, "PORT": str(port)}
    command = [*npm_program(*EVERYTHING), mode]
    async with await anyio.open_process(command, env=environment) as process:
        with anyio.fail_after(20):
            while True:
                try:
                    await (await anyio.connect_tcp("127.0.0.1", port)).aclose()
                    break
                except OSError:
                    await anyio.sleep(0.05)
        yield
        process.kill()


@pytest.mark.row("004-K9a")
@pytest.mark.npm
@pytest.mark.parametrize(
    ("mode", "make", "path"),
    [
        ("streamableHttp", StreamableHTTPConnectionParams, "mcp"),
        ("sse", SseConnectionParams, "sse"),
    ],
)
async def test_a_remote_server_is_called_and_called_again_after_it_was_restarted(
    mode: str, make: Any, path: str
) -> None:
    port, run = free_port(), StubRun()
    toolset = McpToolset(make(f"http://127.0.0.1:{port}/{path}"), name=mode)
    async with everything_at(port, mode):
        echo = await tool_named(toolset, "echo")
        slow = await tool_named(toolset, "trigger-long-running-operation")
        first = await run_tool(echo, {"message": "one"})
        await run_tool(slow, {"duration": 0.2, "steps": 2}, run=run)
    with pytest.raises(ToolError, match=mode):
        await run_tool(echo, {"message": "two"})
    async with everything_at(port, mode):
        with anyio.fail_after(20):
            third = await run_tool(echo, {"message": "three"})
        await toolset.close()
    assert (first.text, third.text) == ("Echo: one", "Echo: three")
    assert [data["progress"] for _, data in run.shown] == [1, 2]


@asynccontextmanager
async def whoami_server() -> AsyncIterator[str]:
    """A server of the SDK's own kind, which says whose request it was."""
    server = MCPServer("whoami")

    @server.tool()
    def whoami(ctx: Context) -> str:
        """Who asks."""
        headers = ctx.request_context.request.headers  # type: ignore[union-attr]
        return f"{headers.get('x-user', '')}{headers.get('authorization', '')}"

    async with _served(_refusing(server.streamable_http_app())) as url:
        yield url


@asynccontextmanager
async def _served(app: Any) -> AsyncIterator[str]:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        web = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(web.serve, [taken])
            with anyio.fail_after(10):
                while not web.started:  # noqa: ASYNC110 - uvicorn has no event for it
                    await anyio.sleep(0.01)
            yield f"http://127.0.0.1:{taken.getsockname()[1]}/mcp"
            web.should_exit = True


def _with_sessions(methods: list[str]) -> Any:
    """A server as they were when they kept sessions; `methods` notes what it is asked."""

    async def answer(request: Request) -> Response:
        methods.append(request.method)
        message = await request.json() if request.method == "POST" else {}
        results = {
            "initialize": {
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "old", "version": "1"},
            },
            "tools/list": {"tools": [{"name": "q", "inputSchema": {"type": "object"}}]},
        }
        if request.method == "GET":
            return Response(status_code=405)
        if "id" not in message:
            return Response(status_code=202 if message else 200)
        found = results.get(message["method"])
        error = {"error": {"code": -32601, "message": "Method not found"}}
        said = error if found is None else {"result": found}
        body = {"jsonrpc": "2.0", "id": message["id"], **said}
        return JSONResponse(body, headers={"mcp-session-id": "s1"})

    return Starlette(routes=[Route("/mcp", answer, methods=["GET", "POST", "DELETE"])])


def _refusing(app: Any) -> Any:
    """The same app, which does not take the token `old`."""

    async def guard(scope: Any, receive: Any, send: Any) -> None:
        headers = dict(scope.get("headers", ()))
        if headers.get(b"authorization") == b"Bearer old":
            await Response(status_code=401)(scope, receive, send)
        else:
            await app(scope, receive, send)

    return guard


def run_of(user: str, services: Services | None = None) -> StubRun:
    scope = Scope(app_name="tests", user_id=user, session_id="s1")
    return StubRun(scope=scope, services=services or Services())


async def test_each_user_has_their_own_headers() -> None:
    async with whoami_server() as url:
        toolset = McpToolset(
            StreamableHTTPConnectionParams(url), header_provider=lambda ctx: {"X-User": ctx.user_id}
        )
        tool = await tool_named(toolset, "whoami")
        said = [(await run_tool(tool, run=run_of(user))).text for user in ("ada", "bob", "ada")]
        await toolset.close()
    assert said == ["ada", "bob", "ada"]


@pytest.mark.row("004-K3")
@pytest.mark.parametrize("most", [10_000, 3])
async def test_progress_is_told_to_a_function_of_ones_own(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("toolwright.sources._counted.MOST_PROGRESS", most)
    told: list[tuple[float, float | None, str | None]] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, total, message))

    server = MCPServer("counting")

    @server.tool()
    async def count(to: int, ctx: Context) -> str:
        """Count."""
        for number in range(to):
            await ctx.report_progress(number + 1, to, "step")
        return "counted"

    run = StubRun()
    async with _served(server.streamable_http_app()) as url:
        toolset = McpToolset(StreamableHTTPConnectionParams(url), progress_callback=note)
        output = await run_tool(await tool_named(toolset, "count"), {"to": 5}, run=run)
        await toolset.close()
    assert output.text == "counted"
    assert told == [(number, 5, "step") for number in range(1, 6)][:most]
    assert len(run.shown) == len(told)
    assert ("not shown" in run.shown[-1][0]) is (most == 3)


@pytest.mark.row("004-K9b")
@pytest.mark.parametrize("ends", [True, False])
async def test_the_session_is_ended_at_the_server_unless_that_is_turned_off(ends: bool) -> None:
    methods: list[str] = []
    async with _served(_with_sessions(methods)) as url:
        toolset = McpToolset(StreamableHTTPConnectionParams(url, terminate_on_close=ends))
        await tool_named(toolset, "q")
        assert "DELETE" not in methods
        await toolset.close()
    assert ("DELETE" in methods) is ends


class Flows:
    """A credential machinery in which users are signed in or are not."""

    def __init__(self, tokens: dict[str, str], fresh: dict[str, str] | None = None) -> None:
        self.tokens = tokens
        self.fresh = dict(fresh or {})
        """What a refused token can be renewed to."""

    async def ready(self, scope: Scope, config: AuthConfig) -> AuthCredential | None:
        token = self.tokens.get(scope.user_id)
        http = HttpAuth(scheme="bearer", credentials=HttpCredentials(token=token))
        return AuthCredential(auth_type=AuthCredentialTypes.HTTP, http=http) if token else None

    async def renew(self, scope: Scope, config: AuthConfig, refused: Any) -> Any:
        self.tokens.pop(scope.user_id, None)
        if token := self.fresh.pop(scope.user_id, None):
            self.tokens[scope.user_id] = token
        return await self.ready(scope, config)

    async def begin(self, scope: Scope, config: AuthConfig) -> dict[str, Any]:
        return {}

    async def finish(self, scope: Scope, config: AuthConfig, answer: Any) -> Any:
        return answer


@pytest.mark.row("004-K10")
async def test_a_user_who_has_not_signed_in_is_offered_that_and_then_the_tools() -> None:
    flows = Flows({"ada": "t1"})
    services = Services(auth=flows)
    async with whoami_server() as url:
        toolset = McpToolset(
            StreamableHTTPConnectionParams(url), name="who", auth_scheme=BEARER, credential_key="w"
        )
        ada, bob = run_of("ada", services), run_of("bob", services)
        (whoami,) = await toolset.list_tools(_readonly(ada))
        (sign_in,) = await toolset.list_tools(_readonly(bob))
        said = (await run_tool(whoami, run=ada)).text
        ctx = context(sign_in, bob)
        await sign_in.run({}, ctx)
        flows.tokens["bob"] = "t2"
        (then,) = await toolset.list_tools(_readonly(bob))
        said_to_bob = (await run_tool(then, run=bob)).text
        await toolset.close()
    assert sign_in.name == "sign_in_to_who"
    assert ctx.requested is not None
    assert ctx.requested.kind == "credential"
    assert (said, said_to_bob) == ("Bearer t1", "Bearer t2")


async def test_a_refused_credential_is_renewed_or_else_asked_for_again() -> None:
    flows = Flows({"ada": "good", "bob": "good"}, fresh={"ada": "better"})
    services = Services(auth=flows)
    async with whoami_server() as url:
        toolset = McpToolset(
            StreamableHTTPConnectionParams(url), auth_scheme=BEARER, credential_key="w"
        )
        ada, bob = run_of("ada", services), run_of("bob", services)
        (tool,) = await toolset.list_tools(_readonly(ada))
        await toolset.list_tools(_readonly(bob))
        flows.tokens.update(ada="old", bob="old")  # The server takes them no longer.
        renewed = await run_tool(tool, run=ada)
        asked = await run_tool(tool, run=bob)
        await toolset.close()
    assert renewed.text == "Bearer better"
    assert asked.status == "pending"


async def test_a_call_without_a_credential_waits_for_one() -> None:
    services = Services(auth=Flows({}))
    toolset = McpToolset(
        StreamableHTTPConnectionParams("http://127.0.0.1:9/mcp"), auth_scheme=BEARER
    )
    tool = toolset._make_tool(_listed("anything"))
    ctx = context(tool, run_of("ada", services))
    await tool.run({}, ctx)
    assert ctx.requested is not None
    assert ctx.requested.kind == "credential"


def test_a_server_over_stdio_takes_no_headers() -> None:
    params = StdioConnectionParams(StdioServerParameters(command="python"))
    with pytest.raises(UsageError, match="env="):
        McpToolset(params, header_provider=lambda ctx: {})


def _readonly(run: StubRun) -> Any:
    from toolwright.tools import ReadonlyContext

    return ReadonlyContext(run)


def _listed(name: str) -> Any:
    import mcp_types

    return mcp_types.Tool(name=name, input_schema={"type": "object"})
