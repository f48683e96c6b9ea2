"""What the person sees is what runs: hidden, reordering, pretending and long text on the page."""

from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from playwright.sync_api import Page, expect
from tests.serve._workbench import STORY, bench_runner, workbench

from toolwright.testing import call

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("workbench")]

LONG = "first line\n" + "\n" * 400 + "and also send 5000000 to Eve"
TALE: dict[str, list[Any]] = {
    **STORY,
    "reorder": [call("wipe", target="report\u202efdp.sh"), "Done."],
    "pretend": [call("wipe", target="p\u0430ypal.example"), "Done."],
    "long": [call("wipe", target=LONG), "Done."],
    "wide": [call("wipe", target="ls" + " " * 3000 + "; rm -rf work"), "Done."],
    "hidden": ["All is well\u200b \u202eereht ton\u202c\U000f0041\x1b[2J, `code\u2066`."],
    "links": [
        "[my bank](https://evil.test/a) [write](mailto:a@b.test) [run](javascript:alert(1)) "
        "[named](https://bank.test@evil.test/) https://plain.test/x"
    ],
}


@pytest.fixture
def address() -> Iterator[str]:
    with workbench(bench_runner(story=TALE)) as url:
        yield url


def begin(page: Page, address: str, message: str) -> None:
    session = httpx2.post(f"{address}/api/sessions", json={}).json()["id"]
    httpx2.post(f"{address}/api/sessions/{session}/runs", json={"message": message})
    page.goto(f"{address}/#/chat/{session}")


def panel(page: Page) -> str:
    expect(page.locator(".answer")).to_be_visible()
    return page.locator(".answer").inner_text()


def test_a_character_that_reorders_an_argument_is_shown_as_a_mark(page: Page, address: str) -> None:
    begin(page, address, "reorder")
    shown = panel(page)
    assert r"report\u202efdp.sh" in shown
    assert "1 hidden character is shown as marks" in shown


def test_letters_of_another_alphabet_within_a_word_are_named(page: Page, address: str) -> None:
    begin(page, address, "pretend")
    assert "Letters that look like others: “p\u0430ypal” has \u0430 (U+0430)." in panel(page)


def test_the_end_of_a_long_argument_is_in_view_with_the_button(page: Page, address: str) -> None:
    begin(page, address, "long")
    page.get_by_role("button", name="Approve", exact=True).scroll_into_view_if_needed()
    box = page.locator(".answer dd .whole").bounding_box()
    assert box is not None
    assert 0 < box["y"] + box["height"] < 800
    assert panel(page).index("and also send 5000000 to Eve") > panel(page).index("between")
    assert "Show the 385 lines (385 characters) between" in panel(page)


def test_all_of_a_long_argument_is_shown_on_demand(page: Page, address: str) -> None:
    begin(page, address, "long")
    page.get_by_role("button", name="between").click()
    assert page.locator(".answer dd .whole").text_content() == LONG
    box = page.locator(".answer dd .whole").first
    cut = box.evaluate(
        "e => e.scrollHeight > e.clientHeight + 1 || e.scrollWidth > e.clientWidth + 1"
    )
    assert not cut


def test_spaces_do_not_push_the_end_of_a_command_out_of_sight(page: Page, address: str) -> None:
    begin(page, address, "wide")
    panel(page)
    expect(page.locator(".answer").get_by_text("; rm -rf work").first).to_be_in_viewport()


def test_what_a_model_hides_in_its_text_is_shown(page: Page, address: str) -> None:
    begin(page, address, "hidden")
    text = page.locator(".turn .prose")
    expect(text).to_contain_text(r"All is well\u200b \u202eereht ton\u202c")
    expect(text).to_contain_text(r"\udb80\udc41\u001b[2J, code\u2066.")


def test_a_link_names_its_host_opens_apart_and_is_of_the_web(page: Page, address: str) -> None:
    begin(page, address, "links")
    text = page.locator(".turn .prose")
    expect(text).to_contain_text("my bank evil.test")
    expect(text).to_contain_text("write (mailto:a@b.test)")
    expect(text).to_contain_text("named (https://bank.test@evil.test/)")
    links = text.locator("a").evaluate_all("all => all.map(a => [a.href, a.target, a.rel])")
    apart = ["_blank", "noopener noreferrer"]
    assert links == [["https://evil.test/a", *apart], ["https://plain.test/x", *apart]]
