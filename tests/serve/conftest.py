"""A browser for the tests of the workbench; one per module, since it keeps an event loop running."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page
from tests._browser import browser


@pytest.fixture(scope="module")
def chromium_browser() -> Iterator[Browser]:
    with browser() as running:
        yield running


@pytest.fixture
def page(chromium_browser: Browser) -> Iterator[Page]:
    context = chromium_browser.new_context(viewport={"width": 1200, "height": 800})
    context.set_default_timeout(10_000)
    page = context.new_page()
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda said: _note(said, problems))
    yield page
    context.close()
    assert problems == [], "the page complained"


def _note(said: ConsoleMessage, problems: list[str]) -> None:
    # A server that is being restarted cannot be reached for a moment.
    expected = "ERR_" in said.text or "Failed to load" in said.text
    if said.type == "error" and not expected:
        problems.append(said.text)
