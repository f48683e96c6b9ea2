"""Searching the web and reading its pages."""

import gzip
import os
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from subprocess import CompletedProcess
from threading import Event
from typing import Any

import anyio
import pytest
from inline_snapshot import snapshot
from tests.backends._no_network import OK, PUBLIC, Names, Wire, reachable
from tests.builtin._answers import Session
from tests.builtin._web_server import Answer, WebServer, serving, stored

from toolwright._charset import decode_text
from toolwright.backends import Fetch, _fetch
from toolwright.builtin import DuckDuckGo, SearchResult, web_tools
from toolwright.builtin.web import _conversion, _elsewhere, _markdown, to_markdown
from toolwright.builtin.web._elsewhere import read_elsewhere
from toolwright.concurrency import in_io_thread
from toolwright.errors import ToolError
from toolwright.messages import BlobPart

pytestmark = pytest.mark.anyio

_HTML = {"Content-Type": "text/html"}


@pytest.fixture
def web() -> Iterator[WebServer]:
    with serving() as server:
        yield server


@pytest.fixture
def session(web: WebServer) -> Session:
    local = Fetch(allow_private=["127.0.0.1"], timeout=5, max_bytes=1_000_000)
    engine = DuckDuckGo(local, address=f"{web.url}/lite/")
    return Session(web_tools(engine=engine, fetch=local))


@pytest.mark.row("002-48", "002-49")
async def test_a_page_is_read_as_markdown(web: WebServer, session: Session) -> None:
    web.answers["/book/guide.html"] = Answer(body=stored("guide.html"), headers=_HTML)
    text = await session.text("web_fetch", url=f"{web.url}/book/guide.html")
    assert text.replace(web.url, "http://here") == snapshot(
        """\
Sharpening — The Workshop Handbook
http://here/book/guide.html

# Sharpening

Keep a [fine stone](http://here/stones/fine.html) at hand. It costs 5 €.

[Image: A whetstone, wet]

## Steps

1. Wet the stone.
2. Hold *25°*.
   - Never more.

```python
angle = float(25)
if angle < 30:
    sharpen()
```

| Stone  | Grit |
| ------ | ---- |
| coarse | 400  |
| fine   | 3000 |\
"""
    )


async def test_the_whole_page_is_converted_before_it_is_cut(
    web: WebServer, session: Session
) -> None:
    rows = "".join(f"<p>Paragraph {n} of the page.</p>" for n in range(20_000))
    body = f"<html><head>{'<meta name=x>' * 8000}</head><body>{rows}</body></html>".encode()
    web.answers["/"] = Answer(body=body, headers=_HTML)
    short = await session.text("web_fetch", url=web.url, max_bytes=2000)
    assert "Paragraph 0 of the page." in short
    assert len(short.encode()) < 2100
    assert short.endswith(
        "[Truncated at 2KB: characters 0-1984 of 588912. Use offset=1984 to read on.]"
    )
    web.answers["/"] = Answer(body=body.replace(b" of the page.", b"." * 99), headers=_HTML)
    long = await session.text("web_fetch", url=web.url, max_bytes=102_400)
    assert 100_000 < len(long.encode()) <= 102_600


@pytest.mark.row("002-51")
async def test_a_page_is_cut_at_2000_lines_and_says_where_to_go_on(
    web: WebServer, session: Session
) -> None:
    body = "".join(f"{n}\n" for n in range(5000))
    web.answers["/"] = Answer(body=body.encode(), headers={"Content-Type": "text/plain"})
    read: list[str] = []
    offset = 0
    for lines in (2000, 2000, 1000):
        text = await session.text("web_fetch", url=web.url, offset=offset)
        page, _, note = text.partition("\n[Truncated at 2000 lines: ")
        assert len(page.splitlines()) == lines
        read += page.split()
        offset = int(note.rpartition("offset=")[2].split()[0]) if note else 0
    assert read == [str(n) for n in range(5000)]
    assert offset == 0


@pytest.mark.row("002-50")
async def test_a_paragraph_longer_than_the_room_is_read_in_parts(
    web: WebServer, session: Session
) -> None:
    words = " ".join(f"word{n}é" for n in range(900))
    body = f"<html><head><title>News</title></head><body><h1>Head</h1><p>{words}</p></body></html>"
    web.answers["/"] = Answer(body=body.encode(), headers=_HTML)
    pages: list[str] = []
    offset: int | None = 0
    while offset is not None:
        text = await session.text("web_fetch", url=web.url, max_bytes=3000, offset=offset)
        shown, _, note = text.partition("\n[Truncated at 2.9KB: ")
        pages.append(shown.removesuffix("…") if note else shown)
        offset = int(note.rpartition("offset=")[2].split()[0]) if note else None
    assert len(pages) == 3
    assert pages[0].startswith("News\n")
    assert len(pages[0].encode()) > 2900
    assert "".join(pages).endswith(words)
    late = await session.answer("web_fetch", url=web.url, offset=10**6)
    assert (late.status, "is past the end of the page" in late.text) == ("error", True)


async def test_text_nested_beyond_all_measure_is_shown(web: WebServer, session: Session) -> None:
    body = "<html><body>" + "<div>" * 5000 + "deep" + "</div>" * 5000 + "<p>after</p></body></html>"
    web.answers["/"] = Answer(body=body.encode(), headers=_HTML)
    assert (await session.text("web_fetch", url=web.url)).endswith("deep\n\nafter")


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        ("Größe €".encode(), {"Content-Type": "text/plain"}),
        ("Größe €".encode("utf-16"), {"Content-Type": "text/plain"}),
        ("Größe €".encode("cp1252"), {"Content-Type": "text/plain"}),
        ("Größe €".encode("iso-8859-15"), {"Content-Type": "text/plain; charset=ISO-8859-15"}),
        ("Größe €".encode(), {"Content-Type": "text/plain; charset=nonsense"}),
        (b'{"a": 1}', {"Content-Type": "application/json"}),
    ],
)
async def test_text_is_read_in_its_own_encoding(
    web: WebServer, session: Session, body: bytes, headers: dict[str, str]
) -> None:
    web.answers["/x"] = Answer(body=body, headers=headers)
    text = await session.text("web_fetch", url=f"{web.url}/x")
    assert text in ("Größe €", '{"a": 1}')


async def test_a_page_that_names_its_encoding_itself_is_read_in_it(
    web: WebServer, session: Session
) -> None:
    page = '<html><head><meta charset="koi8-r"></head><body><p>Привет</p></body></html>'
    web.answers["/"] = Answer(body=page.encode("koi8-r"), headers=_HTML)
    assert "Привет" in await session.text("web_fetch", url=web.url)


async def test_images_are_shown_and_other_files_named(web: WebServer, session: Session) -> None:
    web.answers["/a.png"] = Answer(body=b"\x89PNG", headers={"Content-Type": "image/png"})
    web.answers["/a.zip"] = Answer(body=b"PK\0", headers={"Content-Type": "application/zip"})
    shown = await session.answer("web_fetch", url=f"{web.url}/a.png")
    assert shown.content == (BlobPart(media_type="image/png", data=b"\x89PNG"),)
    refused = await session.answer("web_fetch", url=f"{web.url}/a.zip")
    assert refused.text.endswith("is application/zip (3B), which cannot be read as text.")


async def test_a_private_address_is_refused_by_default(web: WebServer) -> None:
    web.answers["/"] = Answer(body=b"secret", headers=_HTML)
    result = await Session(web_tools()).answer("web_fetch", url=web.url)
    assert result.status == "error"
    assert "not a public address" in result.text
    assert web.asked == []


async def test_a_redirect_to_a_private_address_is_refused(web: WebServer) -> None:
    port = web.url.rpartition(":")[2]
    web.answers["/go"] = Answer(status=302, headers={"Location": f"http://localhost:{port}/in"})
    session = Session(web_tools(allow_private=["127.0.0.1/32"]))
    web.answers["/in"] = Answer(body=b"fine", headers={"Content-Type": "text/plain"})
    assert await session.text("web_fetch", url=f"{web.url}/go") == "fine"
    session = Session(web_tools(fetch=Fetch(allow_private=["here.invalid"])))
    assert "Refused" in await session.text("web_fetch", url=f"{web.url}/go")


@pytest.mark.parametrize(
    ("location", "message"),
    [("file:///etc/passwd", "could not be fetched"), ("/again", "could not be fetched")],
)
async def test_redirects_that_lead_nowhere_end(
    web: WebServer, session: Session, location: str, message: str
) -> None:
    web.answers["/again"] = Answer(status=301, headers={"Location": location})
    result = await session.answer("web_fetch", url=f"{web.url}/again")
    assert message in result.text
    assert len(web.asked) <= 11


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://x/y", "nonsense", "", "http://"])
async def test_what_is_not_a_web_address_is_refused(session: Session, url: str) -> None:
    result = await session.answer("web_fetch", url=url)
    assert result.status == "error"
    assert "is not a web address" in result.text


async def test_error_pages_are_told_with_what_they_say(web: WebServer, session: Session) -> None:
    body = b"<html><body><h1>Gone</h1><p>Moved to the attic.</p></body></html>"
    web.answers["/old"] = Answer(status=410, body=body, headers=_HTML)
    result = await session.answer("web_fetch", url=f"{web.url}/old")
    assert result.text.replace(web.url, "http://here") == snapshot(
        "http://here/old answered with status 410. It says: # Gone Moved to the attic."
    )


async def test_a_server_that_never_ends_is_left_in_time(web: WebServer) -> None:
    over = Event()
    web.answers["/"] = Answer(body=b"begin", headers=_HTML, until=over)
    session = Session(web_tools(fetch=Fetch(allow_private=["127.0.0.1"], timeout=0.5)))
    result = await session.answer("web_fetch", url=web.url)
    over.set()  # Until now the server was still sending.
    assert result.text.endswith("did not answer within 0.5 seconds.")


@pytest.mark.parametrize("more", ["Content-Encoding: gzip\r\n", ""], ids=["packed", "plain"])
async def test_what_a_redirect_has_besides_its_address_is_not_read(more: str) -> None:
    # Whoever reads it finds that it is no gzip, or that it ends before it should.
    head = f"HTTP/1.1 302 Found\r\nLocation: /end\r\n{more}Content-Length: 999999999\r\n\r\n"
    wire = Wire(head.encode() + b"never read", OK)
    fetch = Fetch(allow_private=reachable(wire, Names({"a.example": [PUBLIC]})))
    assert (await fetch.get("http://a.example/")).text == "hello"
    assert wire.connected == [PUBLIC] * 2


async def test_a_small_body_that_unpacks_to_a_large_one_is_cut(
    web: WebServer, session: Session
) -> None:
    bomb = gzip.compress(b"x" * 50_000_000)
    headers = {"Content-Type": "text/plain", "Content-Encoding": "gzip"}
    web.answers["/"] = Answer(body=bomb, headers=headers)
    text = await session.text("web_fetch", url=web.url)
    assert text.endswith("[The page is longer than 976.6KB; the rest was not read.]")


@pytest.mark.row("002-45", "002-46")
async def test_a_search_gives_titles_addresses_and_snippets(
    web: WebServer, session: Session
) -> None:
    web.answers["/lite/"] = Answer(body=stored("duckduckgo.html"), headers=_HTML)
    result = await session.answer("web_search", query="lathe tools & more")
    assert web.asked == ["/lite/?q=lathe+tools+%26+more"]
    assert result.text == snapshot(
        """\
1. A guide to lathe tools & holders
   https://turning.example/guide?a=1&b=2
   Which tools a beginner's lathe needs, and which it does not.

2. Drehmeißel
   https://de.example/Drehmeißel
   Werkzeuge zum Drehen.

3. Without a snippet
   https://last.example/\
"""
    )
    assert (await session.text("web_search", query="x", max_results=1)).count("\n") == 2


async def test_a_search_that_is_taken_for_a_robots_says_so(
    web: WebServer, session: Session
) -> None:
    challenge = b"<html><body><div class='anomaly-modal'>Select all ducks</div></body></html>"
    web.answers["/lite/"] = Answer(status=202, body=challenge, headers=_HTML)
    result = await session.answer("web_search", query="x")
    assert result.status == "error"
    assert "take this program for a robot" in result.text


async def test_a_result_that_is_no_address_is_left_out(web: WebServer, session: Session) -> None:
    link = '<a class="result-link" href="{}">{}</a><td class="result-snippet">s</td>'
    body = link.format("http://[x", "bad") + link.format("https://a.example", "good")
    web.answers["/lite/"] = Answer(body=body.encode(), headers=_HTML)
    assert await session.text("web_search", query="q") == "1. good\n   https://a.example\n   s"


async def test_a_page_of_results_that_takes_long_to_read_is_given_up(
    web: WebServer, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_elsewhere, "_SECONDS", 0.3)
    web.answers["/lite/"] = Answer(body=b"<a b='" * 20_000, headers=_HTML)
    began = time.process_time()
    assert "cannot be read: not within" in await session.text("web_search", query="q")
    assert time.process_time() - began < 1


async def test_a_search_without_results_is_no_error(web: WebServer, session: Session) -> None:
    web.answers["/lite/"] = Answer(body=b"<html>No results.</html>", headers=_HTML)
    assert await session.text("web_search", query="zzz") == "No results for 'zzz'."


async def test_another_engine_can_be_used() -> None:
    class Fixed:
        async def search(self, query: str, max_results: int) -> list[SearchResult]:
            return [SearchResult(title=query, url="https://a.example")] * max_results

    session = Session(web_tools(engine=Fixed()))
    assert await session.text("web_search", query="q", max_results=2) == snapshot(
        "1. q\n   https://a.example\n\n2. q\n   https://a.example"
    )
    too_many = await session.answer("web_search", query="q", max_results=21)
    assert too_many.status == "error"


@pytest.mark.parametrize("html", ["", "plain", "<p>open", "<div>" * 50_000, "<main></main>x", "\0"])
async def test_no_page_is_too_broken_to_convert(html: str) -> None:
    assert isinstance(await to_markdown(html, "https://a.example"), str)


@pytest.mark.parametrize("piece", ["<pre", "<a ", "<main>", "<img alt=", "<title>", "# [#]("])
async def test_no_page_takes_long_to_convert(piece: str) -> None:
    started = time.process_time()
    await to_markdown(piece * (2_000_000 // len(piece)), "https://a.example")
    assert time.process_time() - started < 2


@pytest.mark.parametrize("around", [("<h1><code>", "</code></h1>"), ("<h1>", "</h1>")])
async def test_nothing_that_a_long_page_has_is_read_in_this_process(
    around: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever reads it here would hold everything else up until it is done."""
    read: list[str] = []
    for name in ("page_title", "readable"):
        monkeypatch.setattr(_conversion, name, lambda *args: read.append(args[0]))
    page = around[0] + "[#](" * 250_000 + around[1]
    began = time.process_time()
    assert "[#](" in await to_markdown(page, "https://a.example")
    assert time.process_time() - began < 1
    assert read == []


async def test_headings_lose_the_links_to_themselves_and_nothing_else() -> None:
    page = (
        '<h2>A <a href="#a">#</a></h2><h2>B<a href="/b">¶</a> [#](c</h2>'
        f'<h2>D<a href="{"d" * 501}">#</a></h2><p>E<a href="#e">#</a></p>'
    )
    assert await to_markdown(page, "https://a.example") == snapshot("""\
## A

## B [#](c

## D[#](https://a.example/ddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd)

E[#](https://a.example/#e)\
""")


@pytest.mark.parametrize(
    "page",
    ["<div " + " ".join(f"a{n}=1" for n in range(60_000)) + ">x", "<dl><dd>" * 60_000 + "x"],
    ids=["attributes", "definitions"],
)
async def test_a_page_that_keeps_the_converter_busy_is_given_up_and_nobody_else_waits(
    page: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_elsewhere, "_SECONDS", 0.3)
    began = time.thread_time()
    with pytest.raises(ToolError, match="cannot be read"):
        await to_markdown(page, "https://a.example")
    assert time.thread_time() - began < 1


async def test_a_long_page_is_converted_as_a_short_one_is() -> None:
    short = '<main><h1>A<a href="#a">#</a></h1><nav>x</nav><a href="/b">ü</a></main>'
    long = short.replace("ü", "ü" * 20_000)
    url = "https://a.example/c"
    converted = await to_markdown(long, url)
    assert converted.replace("ü" * 20_000, "ü") == await to_markdown(short, url)


async def test_what_reads_a_page_elsewhere_knows_no_secret_of_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "correct-horse")
    seen: bytes = await read_elsewhere(["import os; print(dict(os.environ))"], "u", "p")
    assert b"PATH" in seen
    assert b"correct-horse" not in seen


async def test_a_cancelled_fetch_ends_the_process_that_reads_its_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise it works on for nobody, and this program cannot exit before it is done."""
    os.mkfifo(fifo := tmp_path / "fifo")
    busy = f"import os, signal\nopen({str(fifo)!r}, 'w').write(str(os.getpid()))\nsignal.pause()\n"
    monkeypatch.setattr(_markdown, "_CONVERTER", busy)
    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(to_markdown, "<p>x" * 10_000, "https://a.example")
            process = int(await in_io_thread(fifo.read_text))
            tasks.cancel_scope.cancel()
        # Cancelled while it is being started, it is killed as well, but not waited for.
        with suppress(ProcessLookupError):
            ended = os.pidfd_open(process)
            await anyio.wait_readable(ended)
            os.close(ended)


async def test_only_so_many_pages_are_read_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    at_once: list[int] = []

    async def counted(*args: Any, **named: Any) -> CompletedProcess[bytes]:
        at_once.append(1)
        await anyio.wait_all_tasks_blocked()
        most.append(len(at_once))
        at_once.pop()
        return CompletedProcess([], 0, b"", b"")

    most: list[int] = []
    monkeypatch.setattr(_elsewhere.anyio, "run_process", counted)
    async with anyio.create_task_group() as tasks:
        for _ in range(20):
            tasks.start_soon(read_elsewhere, [], "u", "p")
    assert max(most) == 4


@pytest.mark.parametrize("kind", ["text/html", "text/plain"])
async def test_what_a_server_sent_is_never_read_on_the_event_loop(
    web: WebServer, session: Session, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """It may be long, and reading it must not keep all other runs waiting."""
    read: list[tuple[bool, int]] = []

    def noted(data: bytes, *args: Any, **named: Any) -> str:
        read.append((threading.current_thread() is threading.main_thread(), len(data)))
        return decode_text(data, *args, **named)

    monkeypatch.setattr(_fetch, "decode_text", noted)
    headers = {"Content-Type": f"{kind}; charset=punycode"}
    long = ("<p>Grüße</p>" * 10_000).encode()
    web.answers["/page"] = Answer(body=long, headers=headers)
    web.answers["/gone"] = Answer(status=404, body=long, headers=headers)
    web.answers["/lite/"] = Answer(body=long, headers=headers)
    assert "Grüße" in await session.text("web_fetch", url=f"{web.url}/page")
    told = (await session.answer("web_fetch", url=f"{web.url}/gone")).text
    assert " It says: " in told
    assert "Grüße" in told
    await session.answer("web_search", query="x")
    assert read == [(False, len(long)), (False, 20_000), (False, len(long))]
