"""Who may call the server, from where, how often and with how much."""

import errno
import itertools
import re
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.routing import Mount
from tests.cli.program import here
from tests.serve._agents import chatting

from toolwright import Runner, UsageError
from toolwright.cli import _serve
from toolwright.serve import Links, ServeSettings, create_app, serve_app
from toolwright.serve._listen import listen
from toolwright.serve._problems import ProblemError
from toolwright.serve._serve import with_token
from toolwright.serve.guard import Door, SameSiteOnly, _token, shown_reason
from toolwright.serve.guard._rate import Buckets

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def client(**settings: Any) -> AsyncIterator[httpx2.AsyncClient]:
    app = create_app(chatting(), settings=ServeSettings(**settings))
    async with app.router.lifespan_context(app):
        transport = httpx2.ASGITransport(app, raise_app_exceptions=False)
        async with httpx2.AsyncClient(
            transport=transport, base_url="http://127.0.0.1:8765"
        ) as http:
            yield http


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "", ".", "bench.example..", "[::1", "a b"]
)
async def test_a_name_that_was_pointed_at_this_machine_is_refused(host: str) -> None:
    async with client() as http:
        assert (await http.get("/api/info", headers={"Host": host})).status_code == 403


@pytest.mark.parametrize(
    "host",
    [
        "localhost:1234", "localhost.", "127.0.0.1", "[::1]:8765", "bench.example",
        "bench.example.", "Bench.Example.:8443",
    ],
)  # fmt: skip
async def test_this_machines_own_names_and_allowed_ones_are_taken(host: str) -> None:
    async with client(allowed_hosts=("bench.example",)) as http:
        assert (await http.get("/api/info", headers={"Host": host})).status_code == 200


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("https://shop.example", "'shop.example'"),
        ("https://shop.example:8443/x", "'shop.example'"),
        ("shop.example:8443", "'shop.example'"),
        ("*.example", "'shop.example'"),
        ("[fe80::1]", "'fe80::1'"),
        ("shop.example/x", "'shop.example'"),
        ("shop.example.", "'shop.example"),
        ("", "'shop.example'"),
        (" shop.example", "'shop.example'"),
        ("shop.example ", "'shop.example'"),
        ("a.shop.example,b", "'shop.example'"),
        ("[fe80", "'shop.example'"),
        ("bücher.example", "'xn--bcher-kva.example'"),
        ("10.1", "'10.0.0.1'"),
    ],
)
def test_an_allowed_host_that_no_request_could_have_is_refused(name: str, meant: str) -> None:
    for make in (
        lambda: ServeSettings(allowed_hosts=("ok.example", name)),
        lambda: SameSiteOnly(Starlette(), ["ok.example", name]),
    ):
        with pytest.raises(UsageError, match=re.escape(f"such as {meant}")):
            make()
    assert ServeSettings(allowed_hosts=("Shop.example", "10.0.0.7", "fe80::1", "a_b", "*"))


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ((chatting().agent,), "create_app takes Runner as 'runner'; got <"),
        ((chatting().agent,), "Make one of the agent: create_app(Runner(agent))."),
        ((Runner,), "Did you mean an instance of it?"),
        ((chatting(), {"settings": {}}), "as 'settings'; got {}."),
        ((chatting(), {"settings": {"port": 1}}), "takes ServeSettings or None as 'settings'"),
        ((chatting(), {"settings": ServeSettings}), "Did you mean an instance of it?"),
        ((chatting(), {"links": "secret"}), "as 'links'; got 'secret'."),
        ((chatting(), {"token": "x"}), "create_app has no setting 'token'."),
    ],
)
def test_what_an_application_cannot_be_made_of_is_told_at_once(given: Any, told: str) -> None:
    runner, settings = given[0], given[1] if len(given) > 1 else {}
    with pytest.raises(UsageError) as caught:
        create_app(runner, **settings)
    assert told in str(caught.value)


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:9999"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
async def test_another_sites_page_cannot_make_a_request(headers: dict[str, str]) -> None:
    async with client() as http:
        reply = await http.post("/api/sessions", json={}, headers=headers)
        assert reply.status_code == 403


async def test_a_form_post_is_refused_since_any_site_can_send_one() -> None:
    async with client() as http:
        reply = await http.post("/api/sessions", data={"user_id": "x"})
        assert reply.status_code == 415


async def test_a_person_may_follow_a_link_to_the_page_from_another_site() -> None:
    async with client() as http:
        headers = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
        assert (await http.get("/", headers=headers)).status_code == 200


async def test_with_a_token_nothing_but_the_page_is_open() -> None:
    async with client(token="s3cret-s3cret") as http:
        assert (await http.get("/")).status_code == 200
        for path in ("/api/info", "/api/sessions", "/api/stream", "/api/openapi.json"):
            assert (await http.get(path)).status_code == 401
        bearer = {"Authorization": "Bearer s3cret-s3cret"}
        assert (await http.get("/api/info", headers=bearer)).status_code == 200
        wrong = {"Authorization": "Bearer s3cret"}
        assert (await http.get("/api/info", headers=wrong)).status_code == 401


async def test_the_page_trades_the_token_for_a_cookie_that_scripts_cannot_read() -> None:
    async with client(token="s3cret-s3cret") as http:
        assert (await http.post("/api/sign-in", json={"token": "no"})).status_code == 403
        reply = await http.post("/api/sign-in", json={"token": "s3cret-s3cret"})
        cookie = reply.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=strict" in cookie
        assert "s3cret" not in cookie
        assert (await http.get("/api/info")).status_code == 200
        copied = {"cookie": f"{next(iter(http.cookies))}={next(iter(http.cookies.values()))}"}
        await http.post("/api/sign-out")
        assert (await http.get("/api/info")).status_code == 401
        # Whoever has copied it is out as well.
        assert (await http.get("/api/info", headers=copied)).status_code == 401


SCOPE: dict[str, Any] = {
    "type": "http", "scheme": "https", "path": "/", "server": ("h", 443), "headers": [],
    "query_string": b"",
}  # fmt: skip


class Page:
    """A browser with the cookie that a door gave it."""

    def __init__(self, door: Door) -> None:
        self.told = door.sign_in(Request(SCOPE), "s3cret-s3cret").headers["set-cookie"]
        self.scope = {**SCOPE, "headers": [(b"cookie", self.told.partition(";")[0].encode())]}

    def enters(self, *doors: Door) -> list[bool]:
        return [door.knows(self.scope) for door in doors]

    def signs_out(self, door: Door) -> None:
        door.sign_out(Request(self.scope))


def test_a_cookie_ends_by_itself_after_a_month() -> None:
    now = [0.0]
    door = Door("s3cret-s3cret", now=lambda: now[0])
    page = Page(door)
    assert "Secure" in page.told
    now[0] = 30 * 24 * 3600.0 - 0.001
    assert page.enters(door) == [True]
    now[0] += 0.001
    assert page.enters(door) == [False]


def test_one_token_for_several_servers_is_one_sign_in() -> None:
    one, two, other = Door("s3cret-s3cret"), Door("s3cret-s3cret"), Door("another-s3cret")
    first = Page(one)
    second = Page(two)
    assert first.enters(one, two, other) == second.enters(one, two, other) == [True, True, False]
    assert first.enters(Door("s3cret-s3cret", realm="mcp")) == [False]


def test_a_cookie_ends_with_the_server_that_gave_it_also_when_the_token_stays() -> None:
    now = [1000.0]
    before = Door("s3cret-s3cret", now=lambda: now[0])
    page, left = Page(before), Page(before)
    left.signs_out(before)
    assert left.enters(before) == [False]
    now[0] += 0.001
    after = Door("s3cret-s3cret", now=lambda: now[0])
    assert [*page.enters(after), *left.enters(after)] == [False, False]
    assert Page(after).enters(before, after) == [True, True]


def test_a_clock_that_is_set_back_keeps_nobody_out() -> None:
    now = [1000.0]
    door = Door("s3cret-s3cret", now=lambda: now[0])
    now[0] = 500.0
    assert Page(door).enters(door) == [True]


@pytest.mark.parametrize("change", [b"9%s", b"%s0", b"%s.", b".%s", b"", b".", b"1.", "ä".encode()])
def test_a_cookie_that_was_changed_lets_nobody_in(change: bytes) -> None:
    door = Door("s3cret-s3cret")
    page = Page(door)
    name, _, value = page.scope["headers"][0][1].partition(b"=")
    page.scope["headers"] = [(b"cookie", name + b"=" + (change.replace(b"%s", value)))]
    assert page.enters(door) == [False]


def test_however_many_sign_out_all_of_them_stay_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_token, "_MOST_SIGNED_OUT", 2)
    now = [0.0]
    door = Door("s3cret-s3cret", now=lambda: now[0])
    pages = []
    for now[0] in range(5):
        pages.append(Page(door))
    for page in (pages[1], pages[3], pages[2]):
        page.signs_out(door)
    assert [page.enters(door) for page in pages] == [[False], [False], [False], [False], [True]]


RIGHT, WRONG = ({"Authorization": f"Bearer {word}"} for word in ("s3cret-s3cret", "guess"))


async def test_wrong_tokens_are_slowed_down_early() -> None:
    async with client(token="s3cret-s3cret") as http:
        statuses = [(await http.get("/api/info", headers=WRONG)).status_code for _ in range(7)]
        assert statuses == [401] * 5 + [429] * 2
        guesses = await http.post("/api/sign-in", json={"token": "guess"})
        assert guesses.status_code == 429
        assert int(guesses.headers["retry-after"]) in range(1, 11)
        # Not even the right one is tried, neither at the form nor from a program.
        assert (await http.post("/api/sign-in", json={"token": "s3cret-s3cret"})).status_code == 429
        assert (await http.get("/api/info", headers=RIGHT)).status_code == 429
        # Who sends none guesses nothing.
        assert (await http.get("/api/info")).status_code == 401


async def test_who_has_signed_in_works_on_while_others_at_the_address_guess() -> None:
    async with client(token="s3cret-s3cret") as http:
        await http.post("/api/sign-in", json={"token": "s3cret-s3cret"})
        cookies = dict(http.cookies)
        http.cookies.clear()
        for _ in range(6):
            guessed = await http.get("/api/info", headers=WRONG)
        assert guessed.status_code == 429
        http.cookies.update(cookies)
        for headers in ({}, WRONG, RIGHT):
            assert (await http.get("/api/info", headers=headers)).status_code == 200


def test_each_way_of_asking_whether_a_token_is_right_counts_the_wrong_ones() -> None:
    """A way that does not would try a short token out within seconds."""
    scope = {"type": "http", "scheme": "http", "path": "/", "query_string": b"", "client": ("c", 1)}

    def sent(token: str) -> dict[str, Any]:
        return {**scope, "headers": [(b"authorization", f"Bearer {token}".encode())]}

    def signs_in(door: Door, token: str) -> bool:
        try:
            return door.sign_in(Request(sent("")), token).status_code == 204
        except ProblemError:
            return False

    ways: list[Callable[[Door, str], bool]] = [
        lambda door, token: door.knows(sent(token)),
        lambda door, token: door.refusal(sent(token)) is None,
        lambda door, token: shown_reason("kind: details", sent(token), door) != "kind",
        signs_in,
    ]
    for way, other in itertools.product(ways, ways):
        now = [0.0]
        door = Door("s3cret-s3cret", clock=lambda now=now: now[0])  # type: ignore[misc]
        assert other(door, "s3cret-s3cret"), "a right one costs nothing"
        assert not any(way(door, "guess") for _ in range(5))
        assert not other(door, "s3cret-s3cret")
        now[0] = 9.9
        assert not other(door, "s3cret-s3cret")
        now[0] = 10.1
        assert other(door, "s3cret-s3cret")


async def test_below_a_prefix_each_client_is_slowed_for_its_own_guesses_only() -> None:
    desk = create_app(chatting(), settings=ServeSettings(token="s3cret-s3cret"))
    host = Starlette(routes=[Mount("/desk", desk)])

    def at(address: str) -> httpx2.AsyncClient:
        transport = httpx2.ASGITransport(host, client=(address, 1234))
        return httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1:8765/desk")

    async def tried(http: httpx2.AsyncClient, token: str) -> int:
        return (await http.post("/api/sign-in", json={"token": token})).status_code

    async with at("127.0.0.2") as eve, at("127.0.0.3") as mallory, at("127.0.0.4") as ada:
        assert [await tried(eve, f"guess-{n}") for n in range(6)] == [403] * 5 + [429]
        assert [await tried(mallory, "guess"), await tried(ada, "s3cret-s3cret")] == [403, 204]
        assert await tried(eve, "s3cret-s3cret") == 429
        copied = dict(ada.cookies)
        assert (await ada.get("/api/info")).status_code == 200
        assert (await ada.post("/api/sign-out")).status_code == 204
        assert not ada.cookies, "the browser has forgotten it, and so has the server"
        mallory.cookies.update(copied)
        assert (await mallory.get("/api/info")).status_code == 401


def test_guesses_are_counted_for_each_address_and_forgiven_with_time() -> None:
    now = [0.0]
    buckets = Buckets(0.1, 2, clock=lambda: now[0])
    assert [buckets.take("a") for _ in range(3)] == [0, 0, 10]
    assert buckets.take("b") == 0
    now[0] = 10.0
    assert [buckets.wait("a"), buckets.take("a"), buckets.wait("a")] == [0, 0, 10]


async def test_two_servers_on_one_host_keep_their_sign_ins_apart() -> None:
    shop = create_app(chatting(), settings=ServeSettings(token="token-of-the-shop"))
    desk = create_app(chatting(), settings=ServeSettings(token="token-of-the-desk"))
    host = Starlette(routes=[Mount("/shop", shop), Mount("/desk", desk)])
    transport = httpx2.ASGITransport(host)
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1:8765") as http:
        await http.post("/shop/api/sign-in", json={"token": "token-of-the-shop"})
        assert (await http.get("/desk/api/info")).status_code == 401
        await http.post("/desk/api/sign-in", json={"token": "token-of-the-desk"})
        assert (await http.get("/shop/api/info")).status_code == 200
        await http.post("/shop/api/sign-out")
        assert (await http.get("/shop/api/info")).status_code == 401
        assert (await http.get("/desk/api/info")).status_code == 200


async def test_two_servers_with_one_token_are_signed_in_to_at_once() -> None:
    apps = [create_app(chatting(), settings=ServeSettings(token="s3cret-s3cret")) for _ in range(2)]
    host = Starlette(routes=[Mount("/shop", apps[0]), Mount("/desk", apps[1])])
    transport = httpx2.ASGITransport(host)
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1:8765") as http:
        for signs_in in ("/shop", "/desk"):
            await http.post(f"{signs_in}/api/sign-in", json={"token": "s3cret-s3cret"})
            for at in ("/shop", "/desk"):
                assert (await http.get(f"{at}/api/info")).status_code == 200


def test_listening_beyond_this_machine_always_needs_a_token() -> None:
    assert with_token(ServeSettings(host="127.0.0.1")).token is None
    assert len(with_token(ServeSettings(host="0.0.0.0")).token or "") >= 32
    assert with_token(ServeSettings(host="0.0.0.0", token="mine")).token == "mine"


@pytest.mark.parametrize("token", ["", " ", "\n", " mine", "mine\n"])
def test_a_token_that_is_blank_or_has_space_around_it_is_refused(token: str) -> None:
    for make in (
        lambda: ServeSettings(token=token),
        lambda: replace(ServeSettings(), token=token),
        lambda: Door(token),
    ):
        with pytest.raises(UsageError, match="leave it out"):
            make()


@pytest.mark.parametrize("blank", ["", " "])
async def test_a_blank_bearer_and_a_blank_sign_in_are_never_the_token(blank: str) -> None:
    async with client(token="s3cret-s3cret") as http:
        bearer = {"Authorization": f"Bearer {blank}"}
        assert (await http.get("/api/info", headers=bearer)).status_code == 401
        assert (await http.post("/api/sign-in", json={"token": blank})).status_code == 403


@pytest.mark.parametrize(
    ("value", "token"), [("", None), (" ", None), ("mine and yours", "mine and yours")]
)
def test_a_blank_token_in_the_environment_is_none(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, value: str, token: str | None
) -> None:
    served: list[ServeSettings] = []
    monkeypatch.setattr(
        _serve, "serve_app", lambda make_app, settings, say: served.append(settings)
    )
    monkeypatch.setattr(_serve, "open_runner", lambda target: chatting())
    here("serve", "--host", "0.0.0.0", cwd=tmp_path, TOOLWRIGHT_TOKEN=value)
    assert served[0].token == token
    assert len(with_token(served[0]).token or "") >= len(token or "x" * 32)


def test_a_blank_token_on_the_command_line_is_a_mistake(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(_serve, "open_runner", lambda target: chatting())
    assert "is blank" in here("serve", "--token", "", cwd=tmp_path, check=2).stderr


async def test_a_body_over_the_limit_is_refused() -> None:
    async with client(max_body=1000) as http:
        session = (await http.post("/api/sessions", json={})).json()["id"]
        reply = await http.post(f"/api/sessions/{session}/runs", json={"message": "x" * 2000})
        assert reply.status_code == 413


async def test_too_many_requests_are_told_when_to_come_back() -> None:
    async with client(requests_per_second=1, burst=3) as http:
        statuses = [(await http.get("/api/health")).status_code for _ in range(5)]
        assert statuses[:3] == [200, 200, 200]
        assert statuses[-1] == 429
        assert (await http.get("/api/health")).headers["retry-after"] == "1"


async def test_every_answer_confines_the_page_to_its_own_server() -> None:
    async with client() as http:
        for path in ("/", "/api/info", "/api/nothing"):
            headers = (await http.get(path)).headers
            assert "default-src 'none'" in headers["content-security-policy"]
            assert "unsafe" not in headers["content-security-policy"]
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["x-frame-options"] == "DENY"


async def test_the_page_holds_no_inline_script_and_no_foreign_address() -> None:
    async with client() as http:
        html = (await http.get("/")).text
        assert "<script>" not in html
        assert "http" not in html.replace("http-equiv", "")


async def test_more_streams_than_allowed_are_refused() -> None:
    async with client(max_streams=0) as http:
        assert (await http.get("/api/stream")).status_code == 503


async def test_a_bug_in_the_server_shows_no_details() -> None:
    app = create_app(chatting())

    async def broken(*args: Any) -> Any:
        raise RuntimeError("password=hunter22222")

    async with app.router.lifespan_context(app):
        transport = httpx2.ASGITransport(app, raise_app_exceptions=False)
        async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
            for route in app.routes:
                if getattr(route, "path", "") == "/api/info":
                    route.app = broken  # type: ignore[attr-defined]
            reply = await http.get("/api/info")
    assert reply.status_code == 500
    assert "hunter" not in reply.text


@pytest.mark.parametrize("secret", ["", "short", " " * 20, "short" + " " * 20])
def test_a_short_or_blank_secret_for_links_is_refused(secret: str) -> None:
    with pytest.raises(UsageError, match="16 or more"):
        Links(secret, "http://127.0.0.1")


def test_work_without_tasks_is_refused() -> None:
    with pytest.raises(UsageError, match=r"create_app\(…, tasks=orchestrator\), or leave work out"):
        create_app(chatting(), settings=ServeSettings(work=True))


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (socket.gaierror(-2, "Unknown error -2"), "Cannot listen on 'nope.test': no such host is"),
        (OSError(-2, "Unknown error -2"), "Cannot listen on 'nope.test': no such host is known"),
        (UnicodeError("label too long"), "Cannot listen on 'nope.test': no such host is known"),
        (OSError(errno.EADDRNOTAVAIL, ""), "nope.test, port 80: Cannot assign requested address"),
    ],
    ids=["unknown", "unknown to create_server", "no name", "not of this machine"],
)
def test_a_host_that_cannot_be_listened_on_is_told_without_a_word_about_ports(
    monkeypatch: pytest.MonkeyPatch, error: Exception, told: str
) -> None:
    def refuse(*args: Any, **settings: Any) -> None:
        raise error

    monkeypatch.setattr(socket, "create_server", refuse)  # Nobody is asked for the name.
    with pytest.raises(UsageError) as caught:
        listen("nope.test", 80)
    assert told in str(caught.value)
    assert "127.0.0.1 for this machine alone" in str(caught.value)
    assert "another port" not in str(caught.value)


def test_a_port_that_is_taken_is_told_in_words() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        settings = ServeSettings(port=taken.getsockname()[1])
        with pytest.raises(UsageError, match="Choose another port"):
            serve_app(lambda final: create_app(chatting(), settings=final), settings)


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("http://127.0.0.1:8765", 200),
        ("HTTP://127.0.0.1:8765", 200),
        ("https://127.0.0.1:8765", 403),
        ("ftp://127.0.0.1:8765", 403),
        ("chrome-extension://127.0.0.1:8765", 403),
        ("//127.0.0.1:8765", 403),
        ("http://127.0.0.1:8765/evil", 403),
        ("http://x@127.0.0.1:8765", 403),
        ("null", 403),
    ],
)
async def test_a_request_comes_from_this_server_with_its_scheme(origin: str, status: int) -> None:
    async with client() as http:
        headers = {"origin": origin, "host": "127.0.0.1:8765"}
        assert (await http.get("/api/info", headers=headers)).status_code == status


async def test_behind_a_proxy_that_ends_tls_the_page_is_at_https() -> None:
    async with client(allowed_hosts=("shop.example",)) as http:
        for origin, status in (("https://shop.example", 200), ("wss://shop.example", 403)):
            headers = {"origin": origin, "host": "shop.example"}
            assert (await http.get("/api/info", headers=headers)).status_code == status


@pytest.mark.parametrize(
    ("host", "origin", "status"),
    [
        ("shop.example:443", "https://shop.example", 200),
        ("shop.example:80", "http://shop.example", 200),
        ("shop.example", "http://shop.example:80", 200),
        ("shop.example", "https://shop.example:443", 200),
        ("shop.example:443", "http://shop.example", 403),
        ("shop.example:80", "https://shop.example", 403),
        ("shop.example:8443", "https://shop.example", 403),
        ("shop.example:1443", "https://shop.example:1", 403),
        ("[::1]:80", "http://[::1]", 200),
        ("[::1]:443", "https://[::1]", 403),
    ],
)
async def test_the_port_that_a_scheme_has_anyway_may_be_named(
    host: str, origin: str, status: int
) -> None:
    async with client(allowed_hosts=("shop.example",)) as http:
        headers = {"origin": origin, "host": host}
        assert (await http.get("/api/info", headers=headers)).status_code == status
