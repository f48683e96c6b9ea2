"""Take the pictures of the workbench that the README and the guides show: `python -m scripts.screenshots`."""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
from examples.tour.__main__ import make_app
from examples.tour._model import TourModel
from examples.tour._story import CHAPTERS, FIX, OTHERWISE, RELEASE, SIGN, SUPPLIER
from playwright.sync_api import Browser, Page, expect
from tests._browser import browser
from tests.serve._serving import serving

from toolwright.serve import ServeSettings

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "images"
WIDE: dict[str, Any] = {"viewport": {"width": 1280, "height": 820}}
PHONE: dict[str, Any] = {"viewport": {"width": 390, "height": 800}, "has_touch": True}


def main() -> None:
    """Play the tour and take a picture of each view, light, dark and on a phone."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    model = TourModel(CHAPTERS, OTHERWISE, pause=0)
    settings = ServeSettings(requests_per_second=0, work=True)
    with tempfile.TemporaryDirectory() as scratch, browser() as chromium:
        app = make_app(Path(scratch), model, settings)
        with serving(app) as address:
            wide = chromium.new_context(**WIDE).new_page()
            _play_all(wide, address)
            for chapter in (FIX, SIGN, "Tell me who you are"):
                httpx2.post(f"{address}/api/tasks", json={"agent": "workshop", "message": chapter})
            _take_all(chromium, address)


def _play_all(page: Page, address: str) -> None:
    _start(page, address, FIX)
    expect(page.locator(".turn", has_text="Fixed. The discount was taken")).to_be_visible(
        timeout=30_000
    )
    _start(page, address, SIGN)
    page.get_by_label("seagreen").check()
    page.get_by_role("button", name="Choose", exact=True).click()
    expect(page.locator(".turn", has_text="Here it is")).to_be_visible(timeout=30_000)
    for chapter in (SUPPLIER, RELEASE):
        _start(page, address, chapter)
        expect(page.locator(".call.waiting")).to_be_visible(timeout=30_000)


def _start(page: Page, address: str, message: str) -> None:
    page.goto(f"{address}/#/chat")
    page.get_by_role("button", name="New conversation").click()
    page.get_by_label("Message", exact=True).fill(message)
    page.keyboard.press("Enter")
    page.wait_for_url("**/#/chat/*")


def _open(title: str) -> Callable[[Page, str], None]:
    def go(page: Page, address: str) -> None:
        page.goto(f"{address}/#/chat")
        if page.get_by_role("button", name="Sessions").is_visible():
            page.get_by_role("button", name="Sessions").click()
        page.locator(".sessions").get_by_role("link", name=title[:30]).first.click()
        page.wait_for_selector(".turn")

    return go


def _at(path: str, ready: str) -> Callable[[Page, str], None]:
    def go(page: Page, address: str) -> None:
        page.goto(f"{address}/{path}")
        page.wait_for_selector(ready)

    return go


def _timeline(page: Page, address: str) -> None:
    page.goto(f"{address}/#/runs")
    page.get_by_role("link", name="Release the till").click()
    page.wait_for_selector(".bar-row")


SHOTS: dict[str, Callable[[Page, str], None]] = {
    "welcome": _at("#/chat", ".suggestions"),
    "chat": _open(FIX),
    "approval": _open(RELEASE),
    "picture": _open(SIGN),
    "inbox": _at("#/inbox", ".waiting-card >> nth=1"),
    "tools": _at("#/tools/release", ".try"),
    "runs": _at("#/runs", ".run-rows"),
    "timeline": _timeline,
}


def _take_all(chromium: Browser, address: str) -> None:
    dark = {**WIDE, "color_scheme": "dark"}
    looks = {
        "": (WIDE, list(SHOTS)),
        "-dark": (dark, ["chat", "approval"]),
        "-phone": (PHONE, ["picture", "inbox"]),
    }
    for suffix, (look, names) in looks.items():
        context = chromium.new_context(**look, device_scale_factor=1, reduced_motion="reduce")
        page = context.new_page()
        for name in names:
            SHOTS[name](page, address)
            page.wait_for_timeout(500)
            page.screenshot(path=IMAGES / f"{name}{suffix}.png")
        context.close()


if __name__ == "__main__":
    main()
