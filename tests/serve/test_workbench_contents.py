"""What the page shows of results and texts: pictures, sounds, files, failed commands, Markdown."""

import io
import struct
import wave
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect
from tests.serve._workbench import Story, workbench

from toolwright import Agent, BlobPart, Output, Runner, tool
from toolwright.messages import ModelMessage
from toolwright.models import ModelRequest, OnDelta
from toolwright.testing import call

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("workbench")]


def png(width: int, height: int) -> bytes:
    """A picture of noise, uncompressed: its base64 has every sign there is."""
    rows = b"".join(
        b"\0" + bytes((x * 7 + y * 13 + x * y) % 256 for x in range(3 * width))
        for y in range(height)
    )

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows, 0)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


def wav() -> bytes:
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setparams((1, 1, 8000, 0, "NONE", ""))
        sound.writeframes(bytes(range(256)) * 32)
    return file.getvalue()


EVERY_BYTE = bytes(range(256)) + bytes([0xFB, 0xEF, 0xBE, 0xFF])
PIECES = {
    "picture.png": BlobPart(media_type="image/png", data=png(40, 30), name="picture.png"),
    "sound.wav": BlobPart(media_type="audio/wav", data=wav(), name="sound.wav"),
    "all.bin": BlobPart(media_type="application/octet-stream", data=EVERY_BYTE, name="all.bin"),
    "table.csv": BlobPart(
        media_type='text/csv;header="a,b#c"', data=b"a,b#c\n1,2\n", name="table.csv"
    ),
    "loud.png": BlobPart(media_type="IMAGE/PNG; x=y", data=png(4, 3), name="loud.png"),
    "empty.txt": BlobPart(media_type="text/plain", data=b"", name="empty.txt"),
    "far.pdf": BlobPart(
        media_type="application/pdf", url="HTTPS://files.example:8443/a.pdf", name="far.pdf"
    ),
    "script.pdf": BlobPart(
        media_type="application/pdf", url="javascript:alert(1)", name="script.pdf"
    ),
}
LONG = 60_000
HOSTILE = {
    "quotes": ">" * 300 + " hi",
    "lists": "\n".join("  " * depth + "- deep" for depth in range(600)),
    "heading of spaces": "# a" + " " * LONG + "x",
    "heading of signs": "# " + "#" * LONG + "x",
    "table of spaces": "a|b\n-" + " " * LONG + "x",
    "list of spaces": "- a" + " " * LONG + "\u2028x",
    "brackets": "[" * 100_000,
    "link of spaces": "[a](" + " " * LONG + "x",
    "line of spaces": "a" + " " * LONG + "x",
    "closing brackets": "http://127.0.0.1/" + ")" * LONG,
    "code": "` " + "a" * LONG + "`",
    "underlines": " __a" * (LONG // 4),
    "rows of backticks": "".join("`" * n + "a" for n in range(1, 1000)),
    "a word": "я" * 400_000,
}
ENDED: dict[str, Any] = {
    "went well": {"match": "A-B", "ended": "2:1", "status": "error", "exit_code": 1},
    "exit code": Output(text="bad", failed=True),
}

MARKDOWN = r"""See [the article](https://127.0.0.1/wiki/Tool_(disambiguation)) and (https://127.0.0.1/a_(b)).
![a missing picture]() and \*stars\*, `a\|b`, first line\
second line  
third line

| left | middle | an_unbreakable_heading |
|:---|:--:|---:|
| a \| b | **c** | 3 |
| short |
"""  # noqa: W291  two spaces at the end of a line are a line break


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    @tool
    async def fetch(name: str) -> BlobPart:
        """Fetch a file."""
        return PIECES[name]

    @tool
    async def command(how: str) -> Any:
        """Run something."""
        return ENDED[how]

    story: dict[str, list[Any]] = {name: [call("fetch", name=name), "There."] for name in PIECES}
    story |= {how: [call("command", how=how), "There."] for how in ENDED}
    story["markdown"] = [MARKDOWN]
    story["signs"] = [
        "```not a fence``` is code\n\n[d](HTTPS://127.0.0.1/) <HTTP://127.0.0.1/x>\n\n# C# #"
    ]
    story["broken"] = ["BREAK-THIS"]
    agent = Agent(name="smith", model=Story(story), tools=[fetch, command])
    with workbench(Runner(agent, app_name="workshop")) as url:
        yield url


class AllAtOnce(Story):
    """Says its whole text in one piece: thousands of pieces would be slow by themselves."""

    async def respond(self, request: ModelRequest, on_delta: OnDelta | None = None) -> ModelMessage:
        return await super().respond(request)


@pytest.fixture(scope="module")
def hostile_address() -> Iterator[str]:
    story = {name: [f"{text}\n\nAnd the end."] for name, text in HOSTILE.items()}
    agent = Agent(name="smith", model=AllAtOnce(story))
    with workbench(Runner(agent, app_name="workshop")) as url:
        yield url


def ask(page: Page, address: str, message: str) -> None:
    page.goto(address)
    page.get_by_label("Message", exact=True).fill(message)
    page.keyboard.press("Enter")
    expect(page.locator(".turn").last).to_be_visible()


def test_a_picture_of_any_bytes_is_seen(page: Page, address: str) -> None:
    ask(page, address, "picture.png")
    picture = page.get_by_alt_text("picture.png")
    expect(picture).to_be_visible()
    page.wait_for_function("i => i.complete", arg=picture.element_handle())
    assert picture.evaluate("i => [i.naturalWidth, i.naturalHeight]") == [40, 30]


def test_a_sound_can_be_played(page: Page, address: str) -> None:
    ask(page, address, "sound.wav")
    sound = page.get_by_label("sound.wav")
    expect(sound).to_be_visible()
    page.wait_for_function("s => s.duration > 1 || s.error", arg=sound.element_handle())
    assert sound.evaluate("s => s.error") is None


def test_a_file_is_saved_with_all_its_bytes(page: Page, address: str, tmp_path: Path) -> None:
    ask(page, address, "all.bin")
    with page.expect_download() as saved:
        page.get_by_role("link", name="all.bin", exact=True).click()
    saved.value.save_as(tmp_path / "all.bin")
    assert (tmp_path / "all.bin").read_bytes() == EVERY_BYTE


@pytest.mark.parametrize("how", [how for how in ENDED if how != "went well"])
def test_a_command_that_ended_badly_is_red(page: Page, address: str, how: str) -> None:
    ask(page, address, how)
    card = page.get_by_label("Call of command")
    expect(card.get_by_role("img", name="Failed")).to_be_visible()
    expect(card.get_by_role("img", name="Done")).to_have_count(0)
    page.goto(page.url.replace("#/chat/", "#/runs/session/"))
    expect(page.locator(".bar-fill.tone-failed")).to_have_count(1)


def test_a_command_that_went_well_is_green(page: Page, address: str) -> None:
    ask(page, address, "went well")
    expect(page.get_by_label("Call of command").get_by_role("img", name="Done")).to_be_visible()


@pytest.fixture
def prose(page: Page, address: str) -> Locator:
    ask(page, address, "markdown")
    found = page.locator(".turn .prose")
    expect(found.locator("table")).to_be_visible()
    return found


def test_a_link_keeps_its_brackets_and_leaves_those_of_the_sentence(prose: Locator) -> None:
    links = prose.get_by_role("link")
    expect(links).to_have_text(["the article 127.0.0.1", "https://127.0.0.1/a_(b)"])
    expect(links.first).to_have_attribute("href", "https://127.0.0.1/wiki/Tool_(disambiguation)")
    expect(prose.locator("p").first).to_contain_text(
        "See the article 127.0.0.1 and (https://127.0.0.1/a_(b))."
    )


def test_escapes_pictures_without_address_and_line_breaks(prose: Locator) -> None:
    text = prose.locator("p").first
    expect(text).to_contain_text("a missing picture and *stars*, a\\|b, first line")
    expect(text.locator("em")).to_have_count(0)
    expect(text.locator("br")).to_have_count(2)


def test_a_table_has_its_sides_its_pipes_and_unbroken_headings(prose: Locator) -> None:
    expect(prose.locator("td")).to_have_text(["a | b", "c", "3", "short", "", ""])
    for side, cell in (("left", 0), ("center", 1), ("right", 2)):
        expect(prose.locator("td").nth(cell)).to_have_css("text-align", side)
    one_line = "h => h.getClientRects().length === 1 && h.offsetHeight < 50"
    assert prose.locator("th").nth(2).evaluate(one_line)
    prose.page.set_viewport_size({"width": 390, "height": 780})
    assert prose.locator("th").nth(2).evaluate(one_line)


def test_parameters_of_a_media_type_do_not_change_the_bytes(
    page: Page, address: str, tmp_path: Path
) -> None:
    ask(page, address, "table.csv")
    with page.expect_download() as saved:
        page.get_by_role("link", name="table.csv", exact=True).click()
    saved.value.save_as(tmp_path / "table.csv")
    assert (tmp_path / "table.csv").read_bytes() == b"a,b#c\n1,2\n"


def test_a_media_type_is_known_in_capitals_too(page: Page, address: str) -> None:
    ask(page, address, "loud.png")
    picture = page.get_by_alt_text("loud.png")
    expect(picture).to_be_visible()
    page.wait_for_function("i => i.complete", arg=picture.element_handle())
    assert picture.evaluate("i => i.naturalWidth") == 4


def test_an_empty_file_is_named_and_not_linked(page: Page, address: str) -> None:
    ask(page, address, "empty.txt")
    expect(page.get_by_text("empty.txt (empty file)")).to_be_visible()
    expect(page.locator(".turn a")).to_have_count(0)


def test_a_file_elsewhere_is_a_link_that_shows_where_it_leads(page: Page, address: str) -> None:
    ask(page, address, "far.pdf")
    link = page.get_by_role("link", name="far.pdf files.example:8443")
    expect(link).to_have_attribute("target", "_blank")
    expect(link).to_have_attribute("rel", "noopener noreferrer")


def test_only_web_addresses_become_links(page: Page, address: str) -> None:
    ask(page, address, "script.pdf")
    expect(page.get_by_text("script.pdf (no web address)")).to_be_visible()
    expect(page.locator(".turn a")).to_have_count(0)


def test_code_in_a_line_schemes_in_capitals_and_a_heading_that_ends_in_a_sign(
    page: Page, address: str
) -> None:
    ask(page, address, "signs")
    prose = page.locator(".turn .prose")
    expect(prose.locator("p").first).to_have_text("not a fence is code")
    expect(prose.locator("p code")).to_have_text("not a fence")
    expect(prose.get_by_role("link")).to_have_text(["d 127.0.0.1", "HTTP://127.0.0.1/x"])
    expect(prose.get_by_role("heading")).to_have_text("C#")


@pytest.mark.parametrize("name", HOSTILE)
def test_no_text_breaks_the_page_or_keeps_it_busy(
    page: Page, hostile_address: str, name: str
) -> None:
    ask(page, hostile_address, name)
    expect(page.locator(".turn .prose > p").last).to_contain_text("And the end.", timeout=3000)
    page.get_by_label("Message", exact=True).fill("hello")
    page.keyboard.press("Enter")
    expect(page.get_by_text("You said: hello", exact=True)).to_be_visible()


def test_a_message_that_cannot_be_drawn_says_so_and_the_rest_of_the_page_stays(
    page: Page, address: str
) -> None:
    page.add_init_script(
        """const replace = String.prototype.replace;
        String.prototype.replace = function (...how) {
          if (String(this).includes("BREAK-THIS")) throw new Error("cannot draw");
          return replace.apply(this, how);
        };"""
    )
    ask(page, address, "hello")
    page.get_by_label("Message", exact=True).fill("broken")
    page.keyboard.press("Enter")
    expect(page.locator("p[role=alert]")).to_contain_text("cannot draw")
    expect(page.get_by_text("You said: hello", exact=True)).to_be_visible()
    page.get_by_label("Message", exact=True).fill("hello")
    page.keyboard.press("Enter")
    expect(page.get_by_text("You said: hello", exact=True)).to_have_count(2)
