"""The tools view in a real browser: forms from schemas, runs by hand, copies of the call."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect
from tests.serve._workbench import workbench

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("workbench")]


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with workbench() as url:
        yield url


def test_a_tool_is_found_read_and_run(page: Page, address: str) -> None:
    page.goto(f"{address}/#/tools")
    page.get_by_label("Search tools").fill("two numbers")
    page.get_by_role("link", name="add").click()
    page.get_by_role("textbox", name="a required").fill("20")
    page.get_by_role("textbox", name="b required").fill("22")
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.get_by_text("42", exact=True)).to_be_visible()


def test_arguments_can_be_written_as_json_and_mistakes_are_told(page: Page, address: str) -> None:
    page.goto(f"{address}/#/tools/add")
    page.get_by_role("button", name="As JSON").click()
    page.get_by_label("Arguments").fill('{"a": 1, "b": "two"}')
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.get_by_text("Invalid arguments for 'add'")).to_be_visible()


def test_a_tool_that_asks_first_asks_in_the_inbox(page: Page, address: str) -> None:
    page.goto(f"{address}/#/tools/wipe")
    page.get_by_label("target").fill("a bench")
    page.get_by_role("button", name="Run", exact=True).click()
    page.get_by_role("status").get_by_role("link", name="inbox").click()
    expect(page.get_by_text("a bench", exact=True)).to_be_visible()


def test_the_call_is_copied_as_curl(page: Page, address: str) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(f"{address}/#/tools/add")
    page.get_by_role("textbox", name="a required").fill("1")
    page.get_by_role("button", name="curl").click()
    expect(page.get_by_text("Copied")).to_be_visible()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert f"curl -s {address}/api/tools/add/call" in copied
    assert '{"arguments":{"a":1}}' in copied
