"""HTTP that reaches public addresses only."""

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import httpx2
import pytest

from toolwright.backends import Reachable, guarded_client, guarded_transport
from toolwright.backends._network import is_public
from toolwright.errors import ToolError, UsageError

pytestmark = pytest.mark.anyio


class _Redirecting(BaseHTTPRequestHandler):
    """`/go?<url>` redirects to the url; any other path says hello."""

    def do_GET(self) -> None:
        path, _, target = self.path.partition("?")
        self.send_response(302 if path == "/go" else 200)
        self.send_header("Location", target)
        self.end_headers()
        self.wfile.write(b"hello")

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def _serving() -> Iterator[int]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Redirecting)
    Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "10.1.2.3",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",
        "224.0.0.1",
        "::1",
        "::",
        "fe80::1%eth0",
        "fd00::1",
        "::ffff:10.0.0.1",
        "::7f00:1",
        "64:ff9b::7f00:1",
        "2002:7f00:1::",
    ],
)
def test_private_addresses_are_told_apart_in_every_wrapping(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", ["8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8"])
def test_public_addresses_are_public(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize(
    "host", ["localhost", "127.0.0.1", "127.1", "2130706433", "0x7f.1", "[::1]"]
)
async def test_every_spelling_of_this_machine_is_refused(host: str) -> None:
    with _serving() as port:
        async with guarded_client() as client:
            with pytest.raises(ToolError, match="not a public address"):
                await client.get(f"http://{host}:{port}/")


@pytest.mark.parametrize("allowed", ["127.0.0.1", "127.0.0.0/8", "localhost"])
async def test_an_allowed_host_or_network_is_reached(allowed: str) -> None:
    with _serving() as port:
        async with guarded_client([allowed]) as client:
            host = "localhost" if allowed == "localhost" else "127.0.0.1"
            assert (await client.get(f"http://{host}:{port}/")).text == "hello"


async def test_a_redirect_to_a_private_address_is_refused() -> None:
    with _serving() as port:
        async with guarded_client(["localhost"], follow_redirects=True) as client:
            with pytest.raises(ToolError, match=r"127\.0\.0\.1"):
                await client.get(f"http://localhost:{port}/go?http://127.0.0.1:{port}/")


async def test_the_address_that_was_checked_is_the_one_connected_to() -> None:
    asked: list[str] = []

    class Moving(Reachable):
        async def addresses(self, host: str, port: int) -> list[str]:
            asked.append(host)
            return ["127.0.0.1"] if len(asked) == 1 else ["203.0.113.1"]

    with _serving() as port:
        async with httpx2.AsyncClient(transport=guarded_transport(Moving())) as client:
            response = await client.get(f"http://rebinding.example:{port}/")
    assert response.text == "hello"
    assert asked == ["rebinding.example"]


async def test_an_unknown_host_is_told_plainly() -> None:
    with pytest.raises(ToolError, match=r"'nowhere\.invalid' cannot be found"):
        await Reachable().addresses("nowhere.invalid", 80)


def test_a_text_in_place_of_a_list_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="allow takes a list"):
        Reachable("localhost")
