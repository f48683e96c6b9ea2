"""MCP servers and plugins in a sandbox: what they reach, what they know, and what they leave."""

import json
import os
import ssl
import sys
from collections.abc import Iterator
from contextlib import asynccontextmanager, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import anyio
import pytest
from anyio.abc import ByteStream
from tests.execution._registries import PACKAGE, registries
from tests.sources._calling import run_tool
from tests.sources.openapi._certificates import self_signed

from toolwright.backends.sandboxes import (
    AllowedHosts,
    Bubblewrap,
    HostSecret,
    Landlock,
    ServerSandbox,
)
from toolwright.backends.sandboxes._allowed_hosts import allowed_address
from toolwright.backends.sandboxes._proxy import HostProxy
from toolwright.backends.sandboxes._secrets import Exchange
from toolwright.errors import UsageError
from toolwright.sources import (
    McpToolset,
    PluginToolset,
    StdioConnectionParams,
    StdioServerParameters,
)

pytestmark = pytest.mark.anyio
SERVER = Path(__file__).with_name("_walled_server.py")
CANARY = "canary-" + "4f1d" * 6
SECRET = "sk-live-0123456789abcdef"
KINDS = ("mcp", "plugin")


@asynccontextmanager
async def server(kind: str, sandbox: ServerSandbox | None, **env: str) -> Any:
    if kind == "plugin":
        toolset: Any = PluginToolset(SERVER, ["plugin"], env, sandbox=sandbox, required=True)
    else:
        params = StdioServerParameters(command="python3", args=[str(SERVER)], env=env)
        toolset = McpToolset(StdioConnectionParams(params), sandbox=sandbox, required=True)
    try:
        yield {tool.name: tool for tool in await toolset.list_tools()}
    finally:
        await toolset.close()


@pytest.mark.parametrize("kind", KINDS)
async def test_a_server_in_a_sandbox_finds_a_secret_of_the_program_nowhere(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CANARY", CANARY)
    (tmp_path / "notes").write_text(CANARY)
    secret = HostSecret(SECRET, ["api.example.test"])
    sandbox = ServerSandbox(secrets={"API_KEY": secret}, allow_hosts=["other.example.test"])
    async with server(kind, sandbox) as tools:
        for wanted in (CANARY, SECRET):
            found = await run_tool(tools["search"], {"backwards": wanted[::-1]})
            told = json.loads(found.text)
            assert told["found"] == []
            assert told["looked"] > 5
        inside = json.loads((await run_tool(tools["environment"], {})).text)
    assert inside["API_KEY"].startswith("placeholder-")
    assert "CANARY" not in inside


async def test_without_a_sandbox_the_search_finds_the_canary(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with server("mcp", None, CANARY=CANARY) as tools:
        found = await run_tool(tools["run"], {"code": "import os; print(os.environ['CANARY'])"})
    assert CANARY in found.text


class Echo(BaseHTTPRequestHandler):
    """Says what it was sent, in its head and its body, cut in the middle of the secret."""

    seen: list[dict[str, str]]

    def do_GET(self) -> None:
        type(self).seen.append({k.lower(): v for k, v in self.headers.items()})
        said = self.headers.get("Authorization", "nothing").encode()
        self.send_response(200)
        self.send_header("X-Echo", said.decode())
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        for piece in (said[:12], said[12:]):
            self.wfile.write(piece)
            self.wfile.flush()

    def log_message(self, format: str, *args: object) -> None:
        return


@contextmanager
def secure_echo(folder: Path, *hosts: str) -> Iterator[tuple[int, list[dict[str, str]], str]]:
    pem = self_signed(folder, *hosts)
    seen: list[dict[str, str]] = []
    handler = type("Recorded", (Echo,), {"seen": seen})
    httpd = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    httpd.socket = context.wrap_socket(httpd.socket, server_side=True)
    thread = Thread(target=httpd.serve_forever, daemon=True)
    thread.start()
    try:
        yield httpd.server_address[1], seen, pem
    finally:
        httpd.shutdown()
        thread.join()
        httpd.server_close()


def leading_to(port: int, *hosts: str, secrets: tuple[HostSecret, ...] = ()) -> AllowedHosts:
    """Names that resolve to a public address, and a way there that ends at a loopback port."""

    async def resolve(host: str, asked: int) -> list[str]:
        return ["93.184.216.34"]

    async def connect(address: str, asked: int) -> ByteStream:
        assert address == "93.184.216.34"
        return await anyio.connect_tcp("127.0.0.1", port)

    return AllowedHosts(hosts=hosts, secrets=secrets, resolve=resolve, connect=connect)


@pytest.mark.parametrize("kind", KINDS)
async def test_a_secret_is_put_in_for_its_host_only_and_is_taken_out_of_answers(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("api.example.test", "other.example.test")
    with secure_echo(tmp_path, *names) as (port, seen, pem):
        monkeypatch.setenv("SSL_CERT_FILE", pem)
        sandbox = ServerSandbox(
            allow_hosts=leading_to(port, "other.example.test"),
            secrets={"API_KEY": HostSecret(SECRET, ["api.example.test"])},
        )
        async with server(kind, sandbox) as tools:
            ask = {"header": "Authorization", "value": "Bearer $API_KEY"}
            own = await run_tool(tools["request"], {"url": "https://api.example.test/a", **ask})
            other = await run_tool(tools["request"], {"url": "https://other.example.test/b", **ask})
            third = await run_tool(tools["request"], {"url": "https://third.example.test/", **ask})
            plain = await run_tool(tools["request"], {"url": "http://third.example.test/", **ask})
    assert [one["authorization"].startswith("Bearer placeholder-") for one in seen] == [False, True]
    assert seen[0]["authorization"] == f"Bearer {SECRET}"
    assert seen[0]["host"] == "api.example.test"
    assert "Bearer placeholder-" in own.text
    assert own.text.count("placeholder-") == 2, "in the head and in the body"
    assert SECRET not in own.text + other.text
    assert "403" in third.text
    assert plain.text == "403 third.example.test is not among the allowed hosts.\n"


def test_a_secret_is_put_into_basic_credentials_and_found_in_pieces() -> None:
    secret, foreign = HostSecret("pass-word-1", ["a.test"]), HostSecret("other-word", ["b.test"])
    exchange = Exchange([secret, foreign])
    import base64

    def basic(text: str) -> bytes:
        return b"Basic " + base64.b64encode(text.encode())

    inside = basic(f"ada:{exchange.placeholder(secret)}")
    assert exchange.put_in(b"Authorization", inside, [secret]) == basic("ada:pass-word-1")
    assert exchange.put_in(b"Authorization", b"Basic !", [secret]) == b"Basic !"
    theirs = exchange.placeholder(foreign).encode()
    assert exchange.put_in(b"X-Key", theirs, [secret]) == theirs
    stream = exchange.filter()
    pieces = [stream.feed(bytes([byte])) for byte in b"<pass-pass-word-1> pass-word"]
    assert b"".join([*pieces, stream.end()]) == (
        f"<pass-{exchange.placeholder(secret)}> pass-word".encode()
    )
    assert exchange.filter().whole(base64.b64encode(b"pass-word-1")) == (
        exchange.placeholder(secret).encode()
    )


def test_secrets_that_could_not_be_found_again_or_have_no_host_are_refused() -> None:
    with pytest.raises(UsageError, match="eight"):
        HostSecret("short", ["a.test"])
    with pytest.raises(UsageError, match="for hosts"):
        HostSecret("long enough", "a.test")
    assert SECRET not in repr(HostSecret(SECRET, ["a.test"]))


@pytest.mark.parametrize(
    ("host", "address", "listed", "allowed"),
    [("a.test", "93.184.216.34", ["a.test"], True),
     ("a.test", "10.0.0.7", ["a.test"], True),
     ("a.test", "127.0.0.1", ["a.test"], False),
     ("a.test", "::1", ["a.test"], False),
     ("a.test", "::ffff:127.0.0.1", ["a.test"], False),
     ("a.test", "169.254.169.254", ["a.test"], False),
     ("a.test", "fe80::1%eth0", ["a.test"], False),
     ("a.test", "0.0.0.0", ["a.test"], False),
     ("a.test", "nonsense", ["a.test"], False),
     ("x.a.test", "93.184.216.34", ["*.a.test"], True),
     ("x.a.test", "10.0.0.7", ["*.a.test"], False),
     ("x.a.test", "192.168.1.1", ["*.a.test"], False),
     ("x.a.test", "10.0.0.7", ["*.a.test", "x.a.test"], True),
     ("a.test.", "10.0.0.7", ["a.test"], True),
     ("a.test", "64:ff9b::7f00:1", ["a.test"], False),
     ("a.test", "2002:a9fe:a9fe::", ["a.test"], False),
     ("a.test", "168.63.129.16", ["a.test"], False),
     ("a.test", "100.100.100.200", ["a.test"], False),
     ("a.test", "fd00:ec2::254", ["a.test"], False),
     ("x.a.test", "192.0.0.192", ["*.a.test"], False),
     ("x.a.test", "3fff::1", ["*.a.test"], False),
     ("2130706433", "127.0.0.1", ["*"], False),
     ("localhost", "127.0.0.1", ["localhost"], True),
     ("localhost", "10.0.0.7", ["localhost"], False),
     ("169.254.169.254", "169.254.169.254", ["169.254.169.254"], True),
     ("169.254.169.254", "127.0.0.1", ["169.254.169.254"], False),
     ("127.0.0.1", "127.0.0.1", ["127.0.0.1"], True),
     ("127.0.0.1", "127.0.0.1", ["*"], False)],
)  # fmt: skip
def test_an_allowed_name_cannot_lead_to_this_machine(
    host: str, address: str, listed: list[str], allowed: bool
) -> None:
    assert allowed_address(address, host, listed) is allowed


@pytest.mark.parametrize(
    ("target", "address"),
    [("rebound.test", "127.0.0.1"), ("rebound.test", "169.254.169.254"), ("not.listed", "")],
)
async def test_what_is_refused_is_never_connected_to(
    target: str, address: str, tmp_path: Path
) -> None:
    asked: list[str] = []

    async def resolve(host: str, port: int) -> list[str]:
        asked.append(host)
        return [address]

    async def connect(address: str, port: int) -> ByteStream:
        raise AssertionError(f"connected to {address}")

    allowed = AllowedHosts(hosts=["rebound.test"], resolve=resolve, connect=connect)
    proxy = HostProxy(tmp_path / "socket", allowed)
    try:
        for request in (f"CONNECT {target}:443 HTTP/1.1", f"GET http://{target}/ HTTP/1.1"):
            async with await anyio.connect_unix(tmp_path / "socket") as stream:
                await stream.send(f"{request}\r\n\r\n".encode())
                assert (await stream.receive()).startswith(b"HTTP/1.1 403 ")
    finally:
        proxy.close()
    assert asked == ([target] * 2 if address else [])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sandbox", [None, ServerSandbox(), ServerSandbox(walls=Landlock())])
async def test_closing_leaves_no_process_not_even_one_in_a_session_of_its_own(
    kind: str, sandbox: ServerSandbox | None
) -> None:
    mark = f"7{os.getpid()}.{KINDS.index(kind)}"
    async with server(kind, sandbox) as tools:
        await run_tool(tools["linger"], {"mark": mark})
        with anyio.fail_after(10):
            while not running(mark):  # noqa: ASYNC110
                await anyio.sleep(0.01)
    assert not running(mark)


@pytest.mark.parametrize("kind", KINDS)
async def test_a_server_that_does_not_leave_is_ended_with_all_it_started(kind: str) -> None:
    mark = f"8{os.getpid()}.{KINDS.index(kind)}"
    async with server(kind, None, STUBBORN="yes") as tools:
        await run_tool(tools["linger"], {"mark": mark})
    assert not running(mark)


async def test_programs_that_fetch_packages_have_a_cache_for_this_command_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    caches = []
    for args in (["-y", "one"], ["-y", "two"], ["-y", "one"]):
        async with ServerSandbox().open("npx", args, {}) as confined:
            caches.append(Path(confined.env["npm_config_cache"]))
    assert caches[0] == caches[2] != caches[1]
    assert all(cache.is_relative_to(tmp_path / "toolwright" / "servers") for cache in caches)
    assert caches[0].parent.stat().st_mode & 0o777 == 0o700
    async with ServerSandbox().open("python3", ["-c", "pass"], {}) as confined:
        assert "npm_config_cache" not in confined.env


def running(mark: str) -> bool:
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if path.read_bytes() == f"sleep\0{mark}\0".encode():
                return True
        except OSError:
            continue
    return False


async def test_a_server_works_in_its_workspace_and_nowhere_else(tmp_path: Path) -> None:
    code = "open('made', 'w').write('x'); open('/etc/made', 'w')"
    async with server("mcp", ServerSandbox(workspace=tmp_path)) as tools:
        said = await run_tool(tools["run"], {"code": code})
    assert (tmp_path / "made").exists()
    assert "Read-only file system" in said.text or "Permission denied" in said.text


async def test_settings_that_make_no_sense_together_are_refused() -> None:
    with pytest.raises(UsageError, match="over stdio"):
        McpToolset("https://example.test/mcp", sandbox=ServerSandbox())
    toolset = PluginToolset(SERVER, ["plugin"], cwd="/", sandbox=ServerSandbox(), required=True)
    with pytest.raises(Exception, match="workspace"):
        await toolset.list_tools()
    await toolset.close()


RUNNERS = {
    "npx": (["-y", PACKAGE], {"npm_config_registry": "http://packages.example.test/"}),
    "uvx": ([PACKAGE], {"UV_DEFAULT_INDEX": "http://packages.example.test/wheels/",
                        "UV_INSECURE_HOST": "packages.example.test"}),
}  # fmt: skip


@pytest.mark.parametrize("runner", RUNNERS)
async def test_a_server_that_is_fetched_runs_in_a_sandbox_with_a_cache_of_its_own(
    runner: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    args, env = RUNNERS[runner]
    own = Path(sys.executable).with_name(runner)
    params = StdioServerParameters(command=str(own) if own.exists() else runner, args=args, env=env)
    monkeypatch.setenv("CANARY", CANARY)
    with registries() as port:
        sandbox = ServerSandbox(
            allow_hosts=leading_to(port, "packages.example.test"),
            cache=tmp_path / "cache",
            walls=Bubblewrap(),
        )
        for _ in range(2):
            toolset = McpToolset(
                StdioConnectionParams(params, timeout=50), sandbox=sandbox, required=True
            )
            try:
                tools = {tool.name: tool for tool in await toolset.list_tools()}
                inside = json.loads((await run_tool(tools["environment"], {})).text)
                asked = {"url": "http://other.example.test/", "header": "A", "value": "b"}
                other = await run_tool(tools["request"], asked)
            finally:
                await toolset.close()
            assert CANARY not in inside.values()
            assert other.text == "403 other.example.test is not among the allowed hosts.\n"
    assert os.listdir(tmp_path / "cache") != []
