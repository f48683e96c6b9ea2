"""The proxy outside the walls: what it connects to, and that nothing inside can end it."""

import gzip
import random
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import IPv4Address, ip_address, ip_network
from pathlib import Path
from threading import Thread

import anyio
import pytest
from anyio.abc import ByteStream
from tests.backends.test_special_addresses import wrapped

from toolwright._special_addresses import METADATA, SPECIAL, Address
from toolwright.backends.sandboxes import AllowedHosts, HostSecret
from toolwright.backends.sandboxes._allowed_hosts import allowed_address, is_own_address
from toolwright.backends.sandboxes._intercept import intercept
from toolwright.backends.sandboxes._proxy import MOST_CONNECTIONS, HostProxy
from toolwright.backends.sandboxes._secrets import Exchange
from toolwright.errors import StoreError

pytestmark = pytest.mark.anyio
PUBLIC = "93.184.216.34"
SECRET = "CANARY/secret+0123456789"


# -- addresses


def nowhere(ip: Address) -> bool:
    return False


@pytest.mark.parametrize("row", [*SPECIAL, *METADATA])
def test_a_pattern_leads_to_no_special_address(row: str) -> None:
    for ip in (ip_network(row)[0], ip_network(row)[-1]):
        assert not allowed_address(str(ip), "x.a.test", ["*.a.test"], nowhere)
        if isinstance(ip, IPv4Address):
            for text in wrapped(ip):
                assert not allowed_address(text, "x.a.test", ["*.a.test"], nowhere), text


@pytest.mark.parametrize("inner", ["127.0.0.1", "127.9.9.9", "169.254.169.254", "0.0.0.0"])
def test_a_name_does_not_lead_to_this_machine_or_to_credentials_in_any_wrapping(inner: str) -> None:
    for text in (inner, *wrapped(IPv4Address(inner))):
        assert not allowed_address(text, "a.test", ["a.test"], nowhere), text


@pytest.mark.parametrize("own", ["192.0.2.7", "10.1.2.3", "2606:4700::7", PUBLIC])
def test_a_name_does_not_lead_to_an_address_of_this_machine_s_interfaces(own: str) -> None:
    def is_own(ip: Address) -> bool:
        return ip == ip_address(own)

    inner = ip_address(own)
    for text in (own, *(wrapped(inner) if isinstance(inner, IPv4Address) else ())):
        for listed in (["a.test"], ["*.test"]):
            assert not allowed_address(text, "a.test", listed, is_own), text
    assert allowed_address(own, own, [own], is_own), "listed as an address"


@pytest.mark.parametrize(
    ("address", "own"),
    [("127.0.0.1", True), ("127.3.2.1", True), ("::1", True), (PUBLIC, False), ("3fff::1", False)],
)
def test_the_machine_knows_its_own_addresses(address: str, own: bool) -> None:
    assert is_own_address(ip_address(address)) is own


@pytest.mark.parametrize("host", ["*.a.test", "x.*", "?.a.test", "[a]b.test"])
async def test_the_text_of_a_pattern_is_no_host(host: str, tmp_path: Path) -> None:
    with serving(tmp_path, "*.a.test", host, address="10.0.0.1"):
        assert (await asked(tmp_path, f"CONNECT {host}:443 HTTP/1.1")).startswith(b"HTTP/1.1 400 ")


# -- requests


@contextmanager
def serving(
    folder: Path, *hosts: str, address: str = PUBLIC, port: int | None = None
) -> Iterator[HostProxy]:
    """A proxy whose hosts have one address; connections end at a port of this machine, if any."""

    async def resolve(host: str, asked: int) -> list[str]:
        return [address]

    async def connect(address: str, asked: int) -> ByteStream:
        assert port is not None, f"connected to {address}"
        return await anyio.connect_tcp("127.0.0.1", port)

    allowed = AllowedHosts(hosts=hosts, resolve=resolve, connect=connect)
    proxy = HostProxy(folder / "socket", allowed)
    try:
        yield proxy
    finally:
        proxy.close()


async def asked(folder: Path, request: str | bytes) -> bytes:
    """All that the proxy answers to a request and the end of the connection."""
    data = request if isinstance(request, bytes) else f"{request}\r\n\r\n".encode()
    with anyio.fail_after(10):
        async with await anyio.connect_unix(folder / "socket") as stream:
            try:
                await stream.send(data)
                await stream.send_eof()
            except anyio.BrokenResourceError:
                pass  # It has answered before it has read all.
            return b"".join([chunk async for chunk in until_gone(stream)])


async def until_gone(stream: ByteStream) -> AsyncIterator[bytes]:
    while True:
        try:
            yield await stream.receive()
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            return


@pytest.mark.parametrize(
    ("request_line", "status"),
    [
        ("CONNECT a.test:99999 HTTP/1.1", 400),
        ("CONNECT a.test:0 HTTP/1.1", 400),
        (f"CONNECT a.test:{'9' * 5000} HTTP/1.1", 400),
        ("CONNECT a.test HTTP/1.1", 400),
        ("CONNECT [::1:443 HTTP/1.1", 400),
        ("CONNECT a.test:443", 400),
        ("GET http://a.test:99999/ HTTP/1.1", 400),
        ("GET http://[/ HTTP/1.1", 400),
        ("GET / HTTP/1.1", 400),
        ("GET ftp://a.test/ HTTP/1.1", 400),
        ("GET http://a.test/ HTTP/1.1\r\nHost : b.test", 400),
        ("GET http://a.test/ HTTP/1.1\r\nA: b\r\n Host: b.test", 400),
        ("GET http://a.test/ HTTP/1.1\r\nA: b\nHost: b.test", 400),
        ("GET http://a.test\n/ HTTP/1.1", 400),
        ("", 400),
        ("CONNECT b.test:443 HTTP/1.1", 403),
        (f"GET http://a.test/ HTTP/1.1\r\nA: {'x' * 70_000}", 431),
    ],
)
async def test_a_request_that_cannot_be_served_is_answered(
    request_line: str, status: int, tmp_path: Path
) -> None:
    with serving(tmp_path, "a.test"):
        answer = await asked(tmp_path, request_line)
    assert answer.startswith(f"HTTP/1.1 {status} ".encode())
    assert answer.endswith(b".\n")


def malformed(chance: random.Random) -> bytes:
    """A request of the two kinds, damaged in a few places."""
    data = bytearray(
        chance.choice(
            [
                b"CONNECT b.test:443 HTTP/1.1\r\nHost: b.test\r\nProxy-Connection: keep-alive\r\n\r\n",
                b"GET http://b.test:80/x?y=%20 HTTP/1.1\r\nHost: b.test\r\nAccept: */*\r\n\r\nmore",
                b"POST http://[2001:db8::1]/ HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello",
            ]
        )
    )
    for _ in range(chance.randint(1, 6)):
        place = chance.randrange(len(data))
        match chance.randrange(4):
            case 0:
                data[place] = chance.randrange(256)
            case 1:
                del data[place : place + chance.randint(1, 9)]
            case 2:
                data[place:place] = chance.choice([b"\0", b"\r\n", b":", b"[", b"%", b"\xff", b" "])
            case _:
                data[place:place] = chance.randbytes(chance.randint(1, 30))
        data = data or bytearray(b"\r")
    return bytes(data)


async def test_hundreds_of_malformed_requests_are_each_refused_and_the_next_is_served(
    tmp_path: Path,
) -> None:
    chance = random.Random(17)
    statuses = set[bytes]()
    with serving(tmp_path, "a.test"):
        for _ in range(400):
            request = malformed(chance)
            answer = await asked(tmp_path, request)
            statuses.add(answer[9:12])
            assert answer == b"" or answer.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 403 ")), request
        assert (await asked(tmp_path, "CONNECT b.test:1 HTTP/1.1")).startswith(b"HTTP/1.1 403 ")
    assert statuses == {b"", b"400", b"403"}


async def test_whatever_fails_in_one_connection_ends_that_one_alone(tmp_path: Path) -> None:
    failures = iter([OverflowError("port"), ValueError("odd"), RuntimeError("new"), OSError("no")])

    async def resolve(host: str, port: int) -> list[str]:
        return [PUBLIC]

    async def connect(address: str, port: int) -> ByteStream:
        raise next(failures)

    allowed = AllowedHosts(hosts=["a.test"], resolve=resolve, connect=connect)
    proxy = HostProxy(tmp_path / "socket", allowed)
    try:
        answers = [await asked(tmp_path, "CONNECT a.test:443 HTTP/1.1") for _ in range(4)]
    finally:
        proxy.close()
    assert answers[:3] == [b"", b"", b""]
    assert answers[3].startswith(b"HTTP/1.1 502 ")


async def test_connections_beyond_a_number_are_refused_until_others_end(tmp_path: Path) -> None:
    with serving(tmp_path, "a.test"):
        open_ones = [await anyio.connect_unix(tmp_path / "socket") for _ in range(MOST_CONNECTIONS)]
        assert (await asked(tmp_path, "CONNECT b.test:1 HTTP/1.1")).startswith(b"HTTP/1.1 503 ")
        await open_ones[0].send(b"\r\n\r\n")
        assert [chunk async for chunk in until_gone(open_ones[0])] != []
        assert (await asked(tmp_path, "CONNECT b.test:1 HTTP/1.1")).startswith(b"HTTP/1.1 403 ")
        for stream in open_ones:
            await stream.aclose()


async def test_a_program_out_of_descriptors_still_has_its_proxy_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    accept, failures = socket.socket.accept, [OSError(24, "Too many open files")] * 2

    def without_descriptors(self: socket.socket) -> tuple[socket.socket, object]:
        if self.family == socket.AF_UNIX and failures:
            raise failures.pop()
        return accept(self)

    monkeypatch.setattr(socket.socket, "accept", without_descriptors)
    with serving(tmp_path, "a.test"):
        assert (await asked(tmp_path, "CONNECT b.test:1 HTTP/1.1")).startswith(b"HTTP/1.1 403 ")
    assert failures == []


async def test_a_proxy_that_cannot_listen_says_so(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot listen"):
        HostProxy(tmp_path / ("long" * 60), AllowedHosts(hosts=["a.test"]))


# -- secrets


class Repeats(BaseHTTPRequestHandler):
    """Says what it was sent, in the way that the path names."""

    def do_GET(self) -> None:
        said = self.headers.get("X-Key", "").encode()
        packed = gzip.compress(said)
        heads = {
            "/gzip": (200, packed, [("Content-Encoding", "gzip")]),
            "/twice": (
                200,
                packed,
                [("Content-Encoding", "gzip"), ("Content-Encoding", "identity")],
            ),
            "/part": (206, said[:12], [("Content-Range", "bytes 0-11/24")]),
            "/location": (302, b"", [("Location", f"https://b.test/?k={said.decode()}")]),
            "/headers": (200, "\n".join(map(str.lower, self.headers)).encode(), []),
        }
        status, body, extra = heads.get(self.path, (200, said, []))
        self.send_response(status)
        for name, value in (*extra, ("Content-Length", str(len(body)))):
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    do_HEAD = do_GET

    def log_message(self, format: str, *args: object) -> None:
        return


@pytest.fixture(scope="module")
def repeating() -> Iterator[int]:
    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Repeats)
    thread = Thread(target=httpd.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield httpd.server_address[1]
    httpd.shutdown()
    thread.join()
    httpd.server_close()


async def intercepted(port: int, request: bytes) -> bytes:
    """What comes back inside, with the placeholder already in the request as `KEY`."""
    secret = HostSecret(SECRET, ["a.test"])
    exchange = Exchange([secret])
    ours, theirs = socket.socketpair()
    inside, client = [await anyio.abc.UNIXSocketStream.from_socket(one) for one in (ours, theirs)]

    async def open_server() -> ByteStream:
        return await anyio.connect_tcp("127.0.0.1", port)

    async with inside, client:
        await inside.send(request.replace(b"KEY", exchange.placeholder(secret).encode()))
        await inside.send_eof()
        with anyio.fail_after(10):
            await intercept(client, open_server, "a.test", exchange, [secret])
            await client.send_eof()
            answer = b"".join([chunk async for chunk in until_gone(inside)])
    return answer.replace(exchange.placeholder(secret).encode(), b"KEY")


@pytest.mark.parametrize("path", ["/", "/location"])
async def test_a_secret_that_is_repeated_is_masked(path: str, repeating: int) -> None:
    answer = await intercepted(
        repeating, f"GET {path} HTTP/1.1\r\nHost: a.test\r\nX-Key: KEY\r\n\r\n".encode()
    )
    assert b"KEY" in answer
    assert b"CANARY" not in answer


@pytest.mark.parametrize("path", ["/gzip", "/twice", "/part"])
@pytest.mark.parametrize("method", ["GET", "HEAD"])
async def test_an_answer_that_is_packed_or_in_pieces_is_refused(
    method: str, path: str, repeating: int
) -> None:
    answer = await intercepted(
        repeating, f"{method} {path} HTTP/1.1\r\nHost: a.test\r\nX-Key: KEY\r\n\r\n".encode()
    )
    assert answer.startswith(b"HTTP/1.1 502 ")
    assert b"CANARY" not in answer


async def test_nobody_inside_can_ask_for_pieces_or_for_something_packed(repeating: int) -> None:
    answer = await intercepted(
        repeating,
        b"GET /headers HTTP/1.1\r\nHost: b.test\r\nRange: bytes=0-3\r\nIf-Range: x\r\n"
        b"Accept-Encoding: br\r\nTE: gzip\r\nUpgrade: h2c\r\nX-Key: KEY\r\n\r\n",
    )
    sent = answer.split(b"\r\n\r\n")[1].replace(b"\r\n", b"\n").split(b"\n")
    assert {b"range", b"if-range", b"te", b"upgrade"} & set(sent) == set()
    assert {b"accept-encoding", b"x-key", b"host"} <= set(sent)


@pytest.mark.parametrize(
    "request_line",
    [b"GET http://b.test/ HTTP/1.1", b"CONNECT b.test:443 HTTP/1.1", b"\0\xff", b"GET /"],
)
async def test_what_is_no_request_for_the_host_is_answered_and_not_handed_on(
    request_line: bytes,
) -> None:
    answer = await intercepted(0, request_line + b"\r\nHost: b.test\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 400 ")
