"""The server restarts in the middle of a run: the run goes on, and the open page sees it."""

from pathlib import Path

import anyio
import pytest
from playwright.sync_api import Page, expect
from tests.serve._serving import ServerThread
from tests.serve._workbench import bench_runner

from toolwright.serve import ServeSettings, create_app

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("workbench")]


def server(store: str, port: int, gate: anyio.Event | None) -> ServerThread:
    settings = ServeSettings(requests_per_second=0)
    return ServerThread(create_app(bench_runner(store, gate), settings=settings), port)


def test_an_open_page_follows_its_run_across_a_restart(page: Page, tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/sessions.db"
    first = server(store, 0, anyio.Event())
    address = first.start()
    page.goto(address)
    page.get_by_label("Message", exact=True).fill("wait")
    page.keyboard.press("Enter")
    expect(page.get_by_label("Call of wait_for_it").get_by_label("Running")).to_be_visible()
    first.stop()
    expect(page.get_by_text("The connection was lost; trying again…")).to_be_visible()
    second = server(store, int(address.rpartition(":")[2]), None)
    second.start()
    try:
        expect(page.get_by_text("It came.", exact=True)).to_be_visible()
        expect(page.get_by_text("The connection was lost")).to_be_hidden()
        assert page.get_by_label("Your message").count() == 1
        assert page.get_by_label("Call of wait_for_it").count() == 1
        assert page.get_by_text("Stopped").count() == 0
    finally:
        second.stop()
