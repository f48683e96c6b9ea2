"""A browser for the tests of the workbench; one per module, since it keeps an event loop running."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page
from tests._browser import browser


@pytest.fixture(scope="module")
def chromium_browser() -> Iterator[Browser]:
    with browser() as running:
        yield running


@pytest.fixture(scope="module")
def window(chromium_browser: Browser) -> Iterator[BrowserContext]:
    """What a module's pages are opened in: each of its own would start a process for its page."""
    context = chromium_browser.new_context(viewport={"width": 1200, "height": 800})
    context.set_default_timeout(10_000)
    # Stays open, so that the process for pages does not end with a test's.
    context.new_page()
    yield context
    context.close()


@pytest.fixture
def page(window: BrowserContext) -> Iterator[Page]:
    """A page of a person who has never been here."""
    page = window.new_page()
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda said: _note(said, problems))
    yield page
    _forget(page)
    for opened in window.pages[1:]:
        opened.close()
    assert problems == [], "the page complained"


def _forget(page: Page) -> None:
    """What outlives a page: cookies and permissions, and what its server's pages have stored."""
    page.context.clear_cookies()
    page.context.clear_permissions()
    session = page.context.new_cdp_session(page)
    origin = page.evaluate("location.origin")
    session.send("Storage.clearDataForOrigin", {"origin": origin, "storageTypes": "all"})
    session.send("Network.clearBrowserCache")


def _note(said: ConsoleMessage, problems: list[str]) -> None:
    # A server that is being restarted cannot be reached for a moment.
    expected = "ERR_" in said.text or "Failed to load" in said.text
    if said.type == "error" and not expected:
        problems.append(said.text)
