"""For everyone: clean by axe in light, dark and on a phone; by keyboard alone; nothing from outside."""

from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from playwright.sync_api import Browser, Page, expect
from tests._npm import npm_package
from tests.serve._workbench import workbench

pytestmark = [pytest.mark.browser, pytest.mark.npm, pytest.mark.xdist_group("workbench")]
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


@pytest.fixture(scope="module")
def sessions() -> dict[str, str]:
    return {}


@pytest.fixture(scope="module")
def address(sessions: dict[str, str]) -> Iterator[str]:
    with workbench() as url:
        for message in ("parallel", "wipe", "choose", "defer", "think", "plan", "twice", "long"):
            session = httpx2.post(f"{url}/api/sessions", json={}).json()["id"]
            httpx2.post(f"{url}/api/sessions/{session}/runs", json={"message": message})
            sessions[message] = session
        yield url


VIEWS = {
    "welcome": ("#/chat", "text=Clean up"),
    "chat": ("#/chat/{parallel}", ".turn >> text=All three are back."),
    "two calls of one tool": ("#/chat/{twice}", ".turn >> text=Both are back."),
    "reasoning": ("#/chat/{think}", ".turn >> text=Weighed."),
    "plan": ("#/chat/{plan}", ".turn >> text=The plan stands."),
    "waiting": ("#/chat/{wipe}", "text=Approve"),
    "inbox": ("#/inbox", ".waiting-card >> nth=2"),
    "tool": ("#/tools/wipe", "text=Run by hand"),
    "runs": ("#/runs", ".run-rows li >> nth=2"),
    "timeline": ("#/runs/session/{parallel}", ".bar-row"),
    "long timeline": ("#/runs/session/{long}", ".bar-row >> nth=30"),
}
LOOKS: dict[str, dict[str, Any]] = {
    "light": {"viewport": {"width": 1200, "height": 800}},
    "dark": {"viewport": {"width": 1200, "height": 800}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 390, "height": 780}, "has_touch": True},
}


@pytest.mark.parametrize("look", LOOKS)
def test_axe_finds_nothing_to_complain_about(
    chromium_browser: Browser, address: str, sessions: dict[str, str], look: str
) -> None:
    axe = (npm_package("axe-core", "4.11.0") / "axe.min.js").read_text()
    context = chromium_browser.new_context(**LOOKS[look], bypass_csp=True)
    page = context.new_page()
    found = {}
    for name, (path, ready) in VIEWS.items():
        page.goto(f"{address}/{path.format(**sessions)}")
        page.wait_for_selector(ready)
        page.add_script_tag(content=axe)
        result = page.evaluate("rules => axe.run({runOnly: rules})", RULES)
        found[name] = [
            (violation["id"], [node["html"][:120] for node in violation["nodes"][:3]])
            for violation in result["violations"]
        ]
    context.close()
    assert found == {name: [] for name in VIEWS}


def test_a_call_is_asked_for_and_approved_with_the_keyboard_alone(page: Page, address: str) -> None:
    page.goto(address)
    expect(page.get_by_label("Message", exact=True)).to_be_focused()
    page.keyboard.type("wipe")
    page.keyboard.press("Enter")
    approve = page.get_by_role("button", name="Approve")
    expect(approve).to_be_visible()
    for _ in range(60):
        page.keyboard.press("Shift+Tab")
        if page.evaluate("document.activeElement.textContent").strip() == "Approve":
            break
    expect(approve).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_text("Staging is wiped.", exact=True)).to_be_visible()


def test_every_view_is_reached_from_the_keyboard_and_the_focus_is_always_seen(
    page: Page, address: str
) -> None:
    page.goto(address)
    page.get_by_role("link", name="Skip to content").focus()
    for view in ("Chat", "Inbox", "Tools", "Runs"):
        for _ in range(4):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.textContent").startswith(view):
                break
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline != "none", view
        page.keyboard.press("Enter")
        expect(page.get_by_role("navigation", name="Main").get_by_role("link", name=view)).to_have_attribute("aria-current", "page")  # fmt: skip


def test_nothing_is_asked_of_any_other_server(page: Page, address: str, sessions: dict) -> None:
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    for path, ready in VIEWS.values():
        page.goto(f"{address}/{path.format(**sessions)}")
        page.wait_for_selector(ready)
    foreign = [url for url in asked if not url.startswith((address, "data:", "blob:"))]
    assert len(asked) > 10
    assert foreign == []


def test_a_token_is_asked_for_once_and_kept_out_of_the_address(page: Page) -> None:
    with workbench(token="a-token-for-the-test") as address:
        page.goto(address)
        field = page.get_by_label("Token, as printed when the server started")
        field.fill("wrong")
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("alert")).to_contain_text("not the token")
        field.fill("a-token-for-the-test")
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("button", name="Clean up")).to_be_visible()
        assert "token" not in page.url
        assert page.evaluate("document.cookie") == ""
        page.reload()
        expect(page.get_by_role("button", name="Clean up")).to_be_visible()
