"""A service that cannot be reached: calls end in time, and nothing keeps the program from exiting."""

import asyncio
import contextlib
import json
import socket
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import anyio
import grpc
import pytest
from google.api_core.exceptions import DeadlineExceeded, NotFound, RetryError, ServiceUnavailable
from google.cloud import apihub_v1, discoveryengine_v1
from google.cloud.apihub_v1.services.api_hub.transports import ApiHubGrpcTransport
from google.cloud.discoveryengine_v1.services.search_service.transports import (
    SearchServiceGrpcTransport,
)
from google.oauth2.credentials import Credentials

from toolwright.agent import Agent
from toolwright.errors import UsageError
from toolwright.messages import ToolCall, ToolMessage
from toolwright.sources import (
    APIHubToolset,
    ApplicationIntegrationToolset,
    DiscoveryEngineSearchTool,
    GoogleCredentialsConfig,
    PubSubToolConfig,
    PubSubToolset,
    SpannerToolset,
    SpannerToolSettings,
    ToolboxToolset,
)
from toolwright.sources.cloud._calls import Deadline
from toolwright.sources.openapi import CallLimits
from toolwright.testing import ScriptedModel, call

pytestmark = pytest.mark.anyio
SECONDS = 0.3
"""The limit that each toolset is given."""
PATIENCE = 8.0
"""Far more than that, and far less than their libraries would go on for."""
API = "projects/p/locations/l/apis/a"
STORE = "projects/p/locations/eu/collections/c/dataStores/d"
DATABASE = {"project_id": "p", "instance_id": "i", "database_id": "d"}


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    """Takes connections, and never says a word."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        one.listen(100)
        one.setblocking(False)
        yield one


@pytest.fixture
def silent(listener: socket.socket) -> str:
    return f"127.0.0.1:{listener.getsockname()[1]}"


@pytest.fixture
def refused() -> Iterator[str]:
    """A port that is taken, on which nobody listens."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{one.getsockname()[1]}"


@asynccontextmanager
async def pubsub(address: str) -> AsyncIterator[PubSubToolset]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PUBSUB_EMULATOR_HOST", address)
        config = PubSubToolConfig(project_id="p", timeout=SECONDS)
        toolset = PubSubToolset(pubsub_tool_config=config)
        yield toolset
        await toolset.close()


@asynccontextmanager
async def spanner(address: str) -> AsyncIterator[SpannerToolset]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPANNER_EMULATOR_HOST", address)
        settings = SpannerToolSettings(timeout=SECONDS)
        toolset = SpannerToolset(spanner_tool_settings=settings)
        yield toolset
        await toolset.close()


@asynccontextmanager
async def discovery(address: str) -> AsyncIterator[DiscoveryEngineSearchTool]:
    with grpc.insecure_channel(address) as channel:
        transport = SearchServiceGrpcTransport(channel=channel)
        client = discoveryengine_v1.SearchServiceClient(transport=transport)
        yield DiscoveryEngineSearchTool(data_store_id=STORE, client=client, timeout=SECONDS)


@asynccontextmanager
async def apihub(address: str) -> AsyncIterator[APIHubToolset]:
    with grpc.insecure_channel(address) as channel:
        client = apihub_v1.ApiHubClient(transport=ApiHubGrpcTransport(channel=channel))
        yield APIHubToolset(
            apihub_resource_name=API, apihub_client=client, timeout=SECONDS, required=True
        )


def integrations(
    credentials: Callable[[str], Any], scheme: str = "http", **what: Any
) -> Callable[[str], Any]:
    @asynccontextmanager
    async def opened(address: str) -> AsyncIterator[ApplicationIntegrationToolset]:
        url = f"{scheme}://{address}"
        toolset = ApplicationIntegrationToolset(
            "p",
            "l",
            credentials_config=GoogleCredentialsConfig(credentials=credentials(url)),
            integrations_endpoint=url,
            connectors_endpoint=url,
            limits=CallLimits(timeout=SECONDS, deadline=2 * SECONDS),
            required=True,
            **what,
        )
        yield toolset
        await toolset.close()

    return opened


@asynccontextmanager
async def discovery_tls(address: str) -> AsyncIterator[DiscoveryEngineSearchTool]:
    with grpc.secure_channel(address, grpc.ssl_channel_credentials()) as channel:
        transport = SearchServiceGrpcTransport(channel=channel)
        client = discoveryengine_v1.SearchServiceClient(transport=transport)
        yield DiscoveryEngineSearchTool(data_store_id=STORE, client=client, timeout=SECONDS)


@asynccontextmanager
async def apihub_tls(address: str) -> AsyncIterator[APIHubToolset]:
    with grpc.secure_channel(address, grpc.ssl_channel_credentials()) as channel:
        client = apihub_v1.ApiHubClient(transport=ApiHubGrpcTransport(channel=channel))
        yield APIHubToolset(
            apihub_resource_name=API, apihub_client=client, timeout=SECONDS, required=True
        )


@asynccontextmanager
async def toolbox(address: str, scheme: str = "http") -> AsyncIterator[ToolboxToolset]:
    toolset = ToolboxToolset(f"{scheme}://{address}", timeout=SECONDS, required=True)
    yield toolset
    await toolset.close()


def signed_in(url: str) -> Credentials:
    return Credentials("token")


def to_be_renewed(url: str) -> Credentials:
    """The token has expired, and the one who gives new ones cannot be reached either."""
    return Credentials(
        None, refresh_token="r", token_uri=f"{url}/token", client_id="c", client_secret="s"
    )


KINDS: dict[str, tuple[Callable[[str], Any], ToolCall]] = {
    "publish": (pubsub, call("publish_message", topic_name="t", message="m")),
    "pull": (pubsub, call("pull_messages", subscription_name="s")),
    "acknowledge": (pubsub, call("acknowledge_messages", subscription_name="s", ack_ids=["a"])),
    "spanner": (spanner, call("spanner_execute_sql", query="SELECT 1", **DATABASE)),
    "search": (discovery, call("discovery_engine_search", query="x")),
    "api hub": (apihub, call("any")),
    "triggers": (integrations(signed_in, integration="i"), call("any")),
    "connection": (integrations(signed_in, connection="c", actions=["a"]), call("any")),
    "sign-in": (integrations(to_be_renewed, integration="i"), call("any")),
    "toolbox": (toolbox, call("any")),
    # The connection is taken, and the handshake never goes on.
    "search, TLS": (discovery_tls, call("discovery_engine_search", query="x")),
    "api hub, TLS": (apihub_tls, call("any")),
    "triggers, TLS": (integrations(signed_in, "https", integration="i"), call("any")),
    "sign-in, TLS": (integrations(to_be_renewed, "https", integration="i"), call("any")),
    "toolbox, TLS": (partial(toolbox, scheme="https"), call("any")),
}


async def answer(tools: Any, asked: ToolCall) -> str:
    """What the model reads, or the developer when there are no tools to call."""
    agent = Agent(name="a", model=ScriptedModel(asked, "done"), tools=[tools])
    try:
        result = await agent.run("go")
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    [told] = next(m for m in result.history if isinstance(m, ToolMessage)).results
    return f"{told.status}: {told.text}"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("where", ["silent", "refused"])
async def test_a_call_ends_in_time(kind: str, where: str, request: pytest.FixtureRequest) -> None:
    make, asked = KINDS[kind]
    async with make(request.getfixturevalue(where)) as tools:
        with anyio.fail_after(PATIENCE):
            told = await answer(tools, asked)
    assert told.startswith(("error: ", "ToolError: ", "Unavailable: "))
    assert "no tool" not in told


@pytest.mark.parametrize("kind", KINDS)
async def test_a_cancelled_call_is_left_at_once_and_no_thread_holds_up_the_exit(
    kind: str, silent: str, listener: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.sources.cloud.test_unreachable.SECONDS", 60.0)
    make, asked = KINDS[kind]
    before = set(threading.enumerate())
    async with make(silent) as tools:
        task = asyncio.create_task(answer(tools, asked))
        with anyio.fail_after(PATIENCE):
            connection, _ = await asyncio.get_running_loop().sock_accept(listener)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        connection.close()
        # Python waits for these when it exits, and for no others.
        assert {t for t in threading.enumerate() if not t.daemon} <= before


async def cancel_all() -> None:
    """Call a tool of every kind, and cancel all calls once each of them has connected."""
    loop = asyncio.get_running_loop()
    async with contextlib.AsyncExitStack() as stack:
        tasks = []
        for make, asked in KINDS.values():
            # One port for each: gRPC shares the connections to one.
            port = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
            port.setblocking(False)
            tools = await stack.enter_async_context(make(f"127.0.0.1:{port.getsockname()[1]}"))
            tasks.append(asyncio.create_task(answer(tools, asked)))
            with anyio.fail_after(PATIENCE):
                stack.enter_context((await loop.sock_accept(port))[0])
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        assert all(task.cancelled() for task in tasks)


def test_a_program_whose_calls_were_cancelled_exits() -> None:
    program = (
        "import asyncio, tests.sources.cloud.test_unreachable as here\n"
        "here.SECONDS = 600.0\n"
        "asyncio.run(here.cancel_all())\n"
        "print('cancelled')\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        timeout=60,  # A tenth of the limit that a thread would wait for.
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (0, "cancelled\n"), ended.stderr


def time_is_up(self: Any, func: Any, on_error: Any = None) -> Any:
    """What a deadline makes of a request when it has passed."""

    def refused(*args: Any, **kwargs: Any) -> None:
        assert kwargs.get("timeout") is None, "another limit than the deadline's"
        raise DeadlineExceeded("time is up")

    return refused


@pytest.mark.parametrize("kind", ["publish", "pull", "acknowledge", "search", "api hub"])
async def test_a_request_is_never_sent_once_the_time_is_up(
    kind: str, silent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that what nobody waits for any more does not take effect later."""
    monkeypatch.setattr(Deadline, "__call__", time_is_up)
    make, asked = KINDS[kind]
    async with make(silent) as tools:
        assert "DEADLINE_EXCEEDED: time is up" in await answer(tools, asked)


def for_ever(request: Callable[[], Any]) -> None:
    """As Spanner's client asks while the service is unavailable."""
    while True:
        with contextlib.suppress(ServiceUnavailable):
            request()


def test_a_deadline_ends_a_loop_that_tries_again_for_ever() -> None:
    tried: list[float] = []

    def unavailable(timeout: float) -> None:
        tried.append(timeout)
        raise ServiceUnavailable("gone")

    with pytest.raises(RetryError, match="gone"):
        for_ever(Deadline(0.2)(unavailable))
    assert len(tried) > 1
    assert tried == sorted(tried, reverse=True)
    assert all(0 < left <= 0.18 for left in tried)


def test_a_deadline_that_has_passed_sends_nothing_more() -> None:
    deadline = Deadline(1e-9)
    with pytest.raises(DeadlineExceeded, match="no answer within"):
        for_ever(deadline(lambda timeout: pytest.fail("sent")))


def test_what_the_service_itself_refuses_is_not_tried_again() -> None:
    tried: list[float] = []

    def missing(timeout: float) -> None:
        tried.append(timeout)
        raise NotFound("no such topic")

    with pytest.raises(NotFound):
        Deadline(5)(missing)()
    assert len(tried) == 1


async def test_asking_for_a_tool_by_name_ends_in_time_too(refused: str) -> None:
    async with apihub(refused) as tools:
        with pytest.raises(UsageError, match="API Hub refused"):
            tools.get_tool("any")


class SilentToolbox(BaseHTTPRequestHandler):
    """Lists one tool, and does not answer when it is called."""

    over: threading.Event

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if asked["method"] == "tools/call":
            self.over.wait(PATIENCE)
            return
        listed = {"name": "slow", "description": "Slow.", "inputSchema": {"type": "object"}}
        about = {
            "protocolVersion": asked.get("params", {}).get("protocolVersion", ""),
            "serverInfo": {"name": "toolbox", "version": "1"},
            "capabilities": {"tools": {"listChanged": True}},
            "tools": [listed],
        }
        reply = json.dumps({"jsonrpc": "2.0", "id": asked.get("id"), "result": about}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.mark.filterwarnings("ignore:This connection is using HTTP")
async def test_a_toolbox_server_that_falls_silent_is_left_in_time() -> None:
    SilentToolbox.over = threading.Event()
    with ThreadingHTTPServer(("127.0.0.1", 0), SilentToolbox) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        async with toolbox(f"127.0.0.1:{server.server_port}") as tools:
            with anyio.fail_after(PATIENCE):
                told = await answer(tools, call("slow"))
        SilentToolbox.over.set()
        server.shutdown()
    assert told == "error: 'slow' did not finish within 0.3 s and was stopped."
