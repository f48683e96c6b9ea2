"""The page below a path: mounted in another application, and behind a proxy that removes the path."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from fastapi import FastAPI
from playwright.sync_api import Page, expect
from starlette.applications import Starlette
from starlette.types import ASGIApp, Receive, Scope, Send
from tests.serve._serving import serving
from tests.serve._workbench import bench_runner

from toolwright.serve import ServeSettings, Suggestion, Welcome, create_app

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("workbench")]
TOKEN = "a-token-for-the-mount"


class RemovesPath:
    """What a proxy does that removes the path: the application behind it never hears of it."""

    def __init__(self, app: ASGIApp, prefix: str) -> None:
        self.app = app
        self.prefix = prefix

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            path = scope["path"].removeprefix(self.prefix)
            scope = {**scope, "path": path, "raw_path": path.encode(), "root_path": ""}
        await self.app(scope, receive, send)


def agent_app() -> Starlette:
    return create_app(
        bench_runner(),
        settings=ServeSettings(requests_per_second=0, token=TOKEN),
        welcome=Welcome(suggestions=(Suggestion(title="Clean up", prompt="wipe"),)),
    )


@contextmanager
def behind_proxy() -> Iterator[str]:
    app = agent_app()
    outer = Starlette()
    outer.mount("/shop/tools", RemovesPath(app, "/shop/tools"))
    with serving(outer) as address:
        yield f"{address}/shop/tools/"


@contextmanager
def mounted_behind_proxy() -> Iterator[str]:
    host = Starlette()
    host.mount("/agent", agent_app())
    outer = Starlette()
    outer.mount("/shop", RemovesPath(host, "/shop"))
    with serving(outer) as address:
        yield f"{address}/shop/agent/"


@contextmanager
def at_a_path_with_a_space() -> Iterator[str]:
    host = Starlette()
    host.mount("/my agent", agent_app())
    with serving(host) as address:
        yield f"{address}/my%20agent/"


@contextmanager
def in_fastapi() -> Iterator[str]:
    host = FastAPI()
    host.mount("/agent", agent_app())
    with serving(host) as address:
        # Without its last slash, as people type it.
        yield f"{address}/agent"


@pytest.mark.parametrize(
    "place", [in_fastapi, behind_proxy, mounted_behind_proxy, at_a_path_with_a_space]
)
def test_a_person_signs_in_runs_an_agent_and_finds_everything_below_the_path(
    page: Page, place: Any
) -> None:
    with place() as address:
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto(address)
        page.get_by_label("Token, as printed").fill(TOKEN)
        page.get_by_role("button", name="Sign in").click()
        page.get_by_role("button", name="Clean up").click()
        page.get_by_role("button", name="Approve").click()
        expect(page.get_by_text("Staging is wiped.", exact=True)).to_be_visible()
        icon = page.locator(".brand img")
        assert icon.evaluate("i => i.complete && i.naturalWidth > 0")
        page.get_by_role("link", name="Tools").click()
        page.get_by_role("link", name="add").click()
        page.get_by_label("a required").fill("2")
        page.get_by_label("b required").fill("3")
        page.get_by_role("button", name="Run", exact=True).click()
        expect(page.locator(".outcome")).to_contain_text("5")
        page.reload()
        expect(page.get_by_role("heading", level=2, name="add")).to_be_visible()
    outside = [url for url in asked if not url.startswith((address, "data:"))]
    assert len(asked) > 10
    assert outside == []
