"""HTTP that reaches public addresses only. The resolver and the connector are handed in."""

import dataclasses
from collections.abc import Callable
from typing import Any

import anyio
import httpcore2
import httpx2
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

from toolwright.backends import Fetch, Reachable, guarded_client, guarded_transport
from toolwright.errors import ToolError, UsageError
from toolwright.sources import OpenAPIToolset

pytestmark = pytest.mark.anyio
REFUSED = (ToolError, httpx2.InvalidURL)


def in_fetch(allow: Any) -> Any:
    return Fetch(allow_private=allow)


def in_openapi(allow: Any) -> Any:
    return OpenAPIToolset(spec_dict={"openapi": "3.0.0", "paths": {}}, allow_private=allow)


async def test_a_public_name_is_reached_by_the_address_that_was_judged() -> None:
    wire, names = Wire(), Names({"shop.example": [PUBLIC]})
    async with guarded_client(reachable(wire, names)) as client:
        answer = await client.get("http://Shop.example./")
    assert answer.text == "hello"
    assert (wire.connected, names.asked) == ([PUBLIC], ["shop.example"])


@pytest.mark.parametrize("host", HOSTILE.values(), ids=HOSTILE)
async def test_no_spelling_of_a_special_address_is_connected_to(host: str) -> None:
    wire, names = Wire(), Names({"localhost": ["127.0.0.1"]})
    async with guarded_client(reachable(wire, names)) as client:
        with pytest.raises(REFUSED):
            await client.get(f"http://{host}/")
    assert wire.connected == []
    # An address in whatever spelling is not left to the resolver.
    assert names.asked in ([], ["localhost"])


@pytest.mark.parametrize("host", HOSTILE.values(), ids=HOSTILE)
async def test_no_redirect_leads_there(host: str) -> None:
    wire = Wire(moved(f"http://{host}/"), OK)
    names = Names({"shop.example": [PUBLIC], "localhost": ["127.0.0.1"]})
    fetch = Fetch(allow_private=reachable(wire, names))
    with pytest.raises(ToolError):
        await fetch.get("http://shop.example/")
    assert wire.connected == [PUBLIC]


@pytest.mark.parametrize("host", HOSTILE.values(), ids=HOSTILE)
async def test_the_same_holds_when_asked_directly(host: str) -> None:
    """Text that a URL would not let through may still come from elsewhere."""
    names = Names({"localhost": ["127.0.0.1"]})
    with pytest.raises(ToolError, match="Refused to connect"):
        await Reachable(resolve=names).addresses(host.strip("[]"), 80)
    assert names.asked in ([], ["localhost"])


@pytest.mark.parametrize("found", HOSTILE_NAMES.values(), ids=HOSTILE_NAMES)
async def test_every_answer_of_the_resolver_is_judged(found: list[str]) -> None:
    wire = Wire()
    async with guarded_client(reachable(wire, Names({"evil.example": found}))) as client:
        with pytest.raises(ToolError, match=r"Refused to connect|cannot be found"):
            await client.get("http://evil.example/")
    assert wire.connected == []


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_name_that_moves_between_two_requests_is_judged_again(status: int) -> None:
    wire = Wire(moved("http://evil.example:81/again", status), OK)
    names = Names({"evil.example": [[PUBLIC], ["127.0.0.1"]]})
    async with guarded_client(reachable(wire, names), follow_redirects=True) as client:
        with pytest.raises(ToolError, match=r"127\.0\.0\.1 is not a public address \(loopback\)"):
            await client.get("http://evil.example/")
    assert (wire.connected, names.asked) == ([PUBLIC], ["evil.example"] * 2)


async def test_a_name_that_moves_within_a_request_gains_nothing() -> None:
    """There is one look-up, and what it gave is connected to."""
    wire, names = Wire(), Names({"evil.example": [[PUBLIC], ["127.0.0.1"]]})
    async with guarded_client(reachable(wire, names)) as client:
        await client.get("http://evil.example/")
    assert (wire.connected, names.asked) == ([PUBLIC], ["evil.example"])


@pytest.mark.parametrize(
    ("url", "connected"),
    [
        ("http://shop.example@127.0.0.1/", []),
        ("http://shop.example:80@127.0.0.1/", []),
        ("http://shop.example%40127.0.0.1/", []),
        ("http://shop.example\\@127.0.0.1/", []),
        ("http://shop.example%2f@127.0.0.1/", []),
        ("http://shop.example%00.evil.example/", []),
        ("http://127.0.0.1\\@shop.example/", [PUBLIC]),
        ("http://127.0.0.1@shop.example/", [PUBLIC]),
        ("http://127.0.0.1:80@shop.example/", [PUBLIC]),
        ("http://shop.example#@127.0.0.1/", [PUBLIC]),
        ("http://shop.example?@127.0.0.1/", [PUBLIC]),
        ("http://shop.example/@127.0.0.1/", [PUBLIC]),
        ("http://[::ffff:127.0.0.1]@shop.example/", [PUBLIC]),
        ("http://shop.example:80:127.0.0.1/", []),
        ("http://0177.0.0.1.shop.example/", []),
        ("//127.0.0.1/", []),
        ("http:127.0.0.1/", []),
        ("http:///127.0.0.1/", []),
    ],
)
async def test_what_is_before_an_at_sign_decides_nothing(url: str, connected: list[str]) -> None:
    wire, names = Wire(), Names({"shop.example": [PUBLIC]})
    fetch = Fetch(allow_private=reachable(wire, names))
    try:
        await fetch.get(url)
    except ToolError:
        assert connected == []
    assert wire.connected == connected


@pytest.mark.parametrize(
    ("allow", "host", "found", "reached"),
    [
        (["127.0.0.1"], "127.0.0.1", [], True),
        (["127.0.0.0/8"], "127.1", [], True),
        (["0x7f.1"], "[::ffff:127.0.0.1]", [], True),
        (["::ffff:127.0.0.1"], "127.0.0.1", [], True),
        (["127.0.0.1"], "127.0.0.2", [], False),
        (["127.0.0.1"], "localhost", ["127.0.0.1"], True),
        (["127.0.0.1"], "localhost", ["127.0.0.1", "::1"], False),
        (["localhost"], "localhost", ["127.0.0.1", "::1"], True),
        (["LOCALHOST."], "localhost", ["127.0.0.1"], True),
        (["localhost"], "localhost", ["10.0.0.1"], False),
        (["localhost"], "127.0.0.1", [], False),
        (["wiki.internal"], "wiki.internal", ["10.0.0.1"], True),
        (["Wiki.Internal"], "wiki.internal.", ["fd12::1", "10.0.0.1"], True),
        (["wiki.internal"], "wiki.internal", ["127.0.0.1"], True),
        (["wiki.internal"], "a.wiki.internal", ["10.0.0.1"], False),
        (["wiki.internal"], "wiki.internal", ["169.254.7.7"], False),
        (["wiki.internal"], "wiki.internal", ["fe80::1%eth0"], False),
        (["wiki.internal"], "wiki.internal", ["0.0.0.0"], False),
        (["wiki.internal"], "wiki.internal", ["169.254.169.254"], False),
        (["wiki.internal"], "wiki.internal", ["100.100.100.200"], False),
        (["wiki.internal"], "wiki.internal", ["10.0.0.1", "168.63.129.16"], False),
        (["10.0.0.0/8"], "wiki.internal", ["10.0.0.1"], True),
        (["10.0.0.0/8"], "wiki.internal", ["10.0.0.1", "172.16.0.1"], False),
        (["100.64.0.0/10"], "100.64.1.1", [], True),
        (["100.64.0.0/10"], "100.100.100.200", [], False),
        (["0.0.0.0/0", "::/0"], "169.254.169.254", [], False),
        (["0.0.0.0/0", "::/0"], "[fd00:ec2::254]", [], False),
        (["0.0.0.0/0", "::/0"], "[2002:a9fe:a9fe::]", [], False),
        (["0.0.0.0/0", "::/0"], "168.63.129.16", [], False),
        (["0.0.0.0/0", "::/0"], "metadata.google.internal", ["10.0.0.1"], False),
        (["169.254.0.0/16"], "169.254.7.7", [], True),
        (["169.254.0.0/16"], "169.254.169.254", [], False),
        (["169.254.169.254"], "169.254.169.254", [], True),
        (["169.254.169.254/32"], "2852039166", [], True),
        (["metadata.google.internal"], "metadata.google.internal", ["169.254.169.254"], False),
        (["metadata.google.internal", "169.254.169.254"], "metadata.google.internal",
         ["169.254.169.254"], True),
    ],
)  # fmt: skip
async def test_what_is_listed_opens_that_and_no_more(
    allow: list[str], host: str, found: list[str], reached: bool
) -> None:
    wire = Wire()
    names = Names({host.lower().removesuffix("."): found} if found else {})
    async with guarded_client(reachable(wire, names, allow)) as client:
        if reached:
            assert (await client.get(f"http://{host}/")).text == "hello"
            return
        with pytest.raises(ToolError, match="Refused to connect"):
            await client.get(f"http://{host}/")
    assert wire.connected == []


@pytest.mark.parametrize(
    "entry", ["http://localhost", "localhost:80", "*.lan", "a/b", "10.0.0.0/33"]
)
def test_an_entry_that_could_never_match_is_a_usage_error(entry: str) -> None:
    with pytest.raises(UsageError, match="without scheme and port"):
        Reachable([entry])


@pytest.mark.parametrize("make", [Reachable, Reachable.of, guarded_client, in_fetch, in_openapi])
def test_a_text_in_place_of_a_list_is_a_usage_error(make: Callable[[Any], Any]) -> None:
    with pytest.raises(UsageError, match="list"):
        make("localhost")


@pytest.mark.parametrize("make", [Reachable, guarded_client, in_fetch, in_openapi])
def test_a_wrong_entry_is_told_before_anything_runs(make: Callable[[Any], Any]) -> None:
    with pytest.raises(UsageError, match="without scheme and port"):
        make(["http://localhost"])


@pytest.mark.parametrize(
    ("name", "value"),
    [("proxy", "http://127.0.0.1:1"), ("mounts", {"all://": None}), ("transport", object())],
)
def test_a_setting_that_would_go_around_the_guard_is_a_usage_error(name: str, value: Any) -> None:
    with pytest.raises(UsageError, match="would go around the guard"):
        guarded_client(**{name: value})


async def test_a_proxy_in_the_environment_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    wire = Wire()
    async with guarded_client(reachable(wire, Names({"shop.example": [PUBLIC]}))) as client:
        assert (await client.get("http://shop.example/")).text == "hello"
    assert wire.connected == [PUBLIC]


@pytest.mark.parametrize("port", [-1, 65536, 99999])
async def test_a_port_that_is_none_is_told(port: int) -> None:
    wire = Wire()
    with pytest.raises(ToolError, match="is not a port"):
        await Fetch(allow_private=reachable(wire)).get(f"http://{PUBLIC}:{port}/")
    assert wire.connected == []


async def test_an_unknown_host_is_told_plainly() -> None:
    with pytest.raises(ToolError, match=r"'nowhere\.invalid' cannot be found"):
        await Reachable(resolve=Names({})).addresses("nowhere.invalid", 80)


async def test_no_local_socket_is_connected_to() -> None:
    transport: Any = guarded_transport(reachable(Wire()))
    network = transport._pool._network_backend
    with pytest.raises(ToolError, match="local socket"):
        await network.connect_unix_socket("/run/decoy.sock")


async def test_the_next_address_is_tried_when_one_does_not_answer() -> None:
    wire = Wire(refuses=[PUBLIC])
    names = Names({"shop.example": [PUBLIC, "2606:4700::1111"]})
    async with guarded_client(reachable(wire, names)) as client:
        assert (await client.get("http://shop.example/")).text == "hello"
    assert wire.connected == [PUBLIC, "2606:4700::1111"]


class Silent(Wire):
    """Connects to nothing, and takes what time it is given."""

    def __init__(self) -> None:
        super().__init__()
        self.given: list[float | None] = []

    async def connect_tcp(
        self, host: str, port: int, timeout: float | None = None, *args: Any, **settings: Any
    ) -> httpcore2.AsyncNetworkStream:
        self.given.append(timeout)
        with anyio.move_on_after(timeout):
            await anyio.sleep_forever()
        raise httpcore2.ConnectTimeout


async def test_all_addresses_together_have_the_time_of_one_connection() -> None:
    wire, many = Silent(), [f"1.0.0.{last}" for last in range(1, 5)]
    reach = reachable(wire, Names({"shop.example": many}))
    async with guarded_client(reach, timeout=0.2) as client:
        with anyio.fail_after(1), pytest.raises(httpx2.ConnectTimeout):
            await client.get("http://shop.example/")
    assert len(wire.given) == 4
    assert wire.given[0] == pytest.approx(0.05, rel=0.2)


async def test_a_resolver_that_never_answers_is_left_in_time() -> None:
    async def resolve(host: str, port: int) -> list[str]:
        await anyio.sleep_forever()
        return []

    async with guarded_client(Reachable(resolve=resolve, network=Wire()), timeout=0.05) as client:
        with anyio.fail_after(1), pytest.raises(httpx2.ConnectTimeout, match=r"within 0\.05 s"):
            await client.get("http://shop.example/")


async def test_the_guard_fails_when_it_cannot_be_put_in_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A later httpx2 that keeps its connections elsewhere must not leave us without a guard."""

    def elsewhere(self: Any, **settings: Any) -> None:
        self._connections = object()

    monkeypatch.setattr(httpx2.AsyncHTTPTransport, "__init__", elsewhere)
    with pytest.raises(RuntimeError, match="cannot be guarded"):
        guarded_client()


def test_a_reachable_can_be_given_more_hosts_and_keeps_its_resolver() -> None:
    wire, names = Wire(), Names({})
    reach = Reachable.of(reachable(wire, names, ["a.example"]), "b.example")
    assert reach.allow == ("a.example", "b.example")
    assert (reach.resolve, reach.network) == (names, wire)
    assert dataclasses.replace(reach, allow=()).allow == ()


@pytest.mark.parametrize("allowed", ["127.0.0.1", "localhost"])
async def test_a_real_connection_to_an_allowed_host(allowed: str) -> None:
    """Once with the system's own resolver and connector, to this machine."""

    async def answer(stream: anyio.abc.SocketStream) -> None:
        async with stream:
            await stream.receive()
            await stream.send(OK)

    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    port = listener.extra(anyio.abc.SocketAttribute.local_port)
    async with listener, anyio.create_task_group() as group:
        group.start_soon(listener.serve, answer)
        async with guarded_client([allowed]) as client:
            assert (await client.get(f"http://{allowed}:{port}/")).text == "hello"
        async with guarded_client() as client:
            with pytest.raises(ToolError, match="not a public address"):
                await client.get(f"http://{allowed}:{port}/")
        group.cancel_scope.cancel()
