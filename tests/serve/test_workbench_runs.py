"""Runs in a real browser: search, timeline, events, replay, fork; and ten thousand events."""

from collections.abc import Iterator

import anyio
import httpx2
import pytest
from playwright.sync_api import Page, expect
from tests.serve._workbench import bench_runner, workbench

from toolwright.messages import (
    ModelMessage,
    ModelReplied,
    RunEnded,
    RunStarted,
    Scope,
    TextPart,
    ToolCall,
    ToolEnded,
    ToolResult,
    ToolStarted,
    TurnStarted,
    user_message,
)

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("workbench")]
TEN_THOUSAND = 10_000


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with workbench() as url:
        for message in ("parallel", "wipe", "hello"):
            session = httpx2.post(f"{url}/api/sessions", json={}).json()["id"]
            httpx2.post(f"{url}/api/sessions/{session}/runs", json={"message": message})
        yield url


def open_run(page: Page, address: str, title: str) -> None:
    page.goto(f"{address}/#/runs")
    page.get_by_role("link", name=title).click()
    expect(page.get_by_role("heading", level=1, name=title)).to_be_visible()


def test_runs_are_found_by_text_and_by_status(page: Page, address: str) -> None:
    page.goto(f"{address}/#/runs")
    rows = page.locator(".run-rows li")
    expect(rows).to_have_count(3)
    page.get_by_role("group", name="Status").get_by_role("button", name="Waiting").click()
    expect(rows).to_have_count(1)
    page.get_by_role("group", name="Status").get_by_role("button", name="All").click()
    page.get_by_label("Search runs").fill("para")
    expect(rows).to_have_count(1)


def test_the_counters_count_what_the_list_shows(page: Page, address: str) -> None:
    page.goto(f"{address}/#/runs")
    expect(page.locator(".run-rows li")).to_have_count(3)
    shown = page.locator(".tiles div").all_inner_texts()
    assert [tile.lower().split("\n") for tile in shown] == [
        ["running", "0"],
        ["waiting", "1"],
        ["done", "2"],
    ]


def test_on_a_phone_the_title_is_read_and_the_send_button_is_round(
    page: Page, address: str
) -> None:
    page.set_viewport_size({"width": 390, "height": 780})
    open_run(page, address, "wipe")
    page.goto(page.url)
    title = page.get_by_role("heading", level=1)
    title.evaluate("h => h.textContent = 'The tests of the till fail, find the bug and fix it'")
    assert title.evaluate("h => h.clientWidth") > 200
    page.goto(page.url.replace("#/runs/session/", "#/chat/"))
    send = page.get_by_role("button", name="Send")
    page.get_by_label("Message", exact=True).fill("a line that is long enough " * 5)
    box = send.bounding_box()
    assert box is not None
    assert box["width"] == box["height"] == 38


def test_the_timeline_shows_parallel_calls_and_waiting_as_waiting(page: Page, address: str) -> None:
    open_run(page, address, "parallel")
    labels = page.locator(".bar-label")
    expect(labels).to_have_text(["Turn 1", "add", "draw", "fail", "Turn 2"])
    open_run(page, address, "wipe")
    expect(page.locator(".bar-fill.tone-wait.going")).to_be_visible()


def test_each_event_can_be_read(page: Page, address: str) -> None:
    open_run(page, address, "parallel")
    page.get_by_role("button", name="Events").click()
    page.get_by_label("Search events").fill("the wheel came off")
    page.get_by_role("listitem").get_by_role("button").first.click()
    expect(page.locator(".event-detail")).to_contain_text('"status": "error"')


def test_a_run_is_replayed_and_forked(page: Page, address: str) -> None:
    open_run(page, address, "hello")
    page.get_by_role("button", name="Replay").click()
    expect(page.get_by_text("You said: hello", exact=True)).to_be_visible()
    page.get_by_role("button", name="Fork").click()
    expect(page.get_by_label("Message", exact=True)).to_be_visible()
    expect(page.get_by_text("You said: hello", exact=True)).to_be_visible()


def long_log() -> list:
    """A run of two thousand turns, each with a call."""
    events: list = [RunStarted(seq=1, at=1.0, message=user_message("a long day"))]
    while len(events) < TEN_THOUSAND - 1:
        seq, turn = len(events) + 1, len(events) // 4
        call = ToolCall(call_id=f"c{turn}", name="add", arguments='{"a": 1, "b": 2}')
        result = ToolResult(
            call_id=call.call_id, name="add", status="ok", content=(TextPart(f"result {turn}"),)
        )
        events += [
            TurnStarted(seq=seq, at=seq, turn=turn),
            ModelReplied(
                seq=seq + 1,
                at=seq + 1,
                message=ModelMessage(parts=(TextPart(f"Turn {turn}."), call)),
            ),
            ToolStarted(seq=seq + 2, at=seq + 2, call=call),
            ToolEnded(seq=seq + 3, at=seq + 3, result=result, elapsed=0.5),
        ]
    events.append(RunEnded(seq=len(events) + 1, at=len(events) + 1, status="done"))
    return events


MOST_AT_ONCE = """async (box, rows) => {
  const step = box.scrollHeight / 120;
  let most = 0;
  box.scrollTop = 0;
  for (let n = 0; n < 120; n++) {
    box.scrollTop += step;
    await new Promise(requestAnimationFrame);
    most = Math.max(most, box.querySelectorAll(rows).length);
  }
  return most;
}"""
"""Scrolls from the top to the end, and counts what is in the document on the way."""


def test_of_ten_thousand_events_only_those_near_the_view_are_drawn(page: Page) -> None:
    runner = bench_runner()
    scope = Scope(app_name="workshop", user_id="local", session_id="long")

    async def fill() -> None:
        await runner.store.open(scope)
        await runner.store.append(scope, long_log())

    with anyio.from_thread.start_blocking_portal() as portal:
        portal.call(fill)
    with workbench(runner) as address:
        page.goto(f"{address}/#/chat/long")
        expect(page.get_by_text("Turn 2499.", exact=True)).to_be_visible()
        assert 0 < page.locator(".talk-main > .scroll").evaluate(MOST_AT_ONCE, ".turn") < 400
        page.goto(f"{address}/#/runs/session/long")
        page.get_by_role("button", name="Events").click()
        expect(page.get_by_text("10,002 events")).to_be_visible()
        assert 0 < page.locator(".event-rows").evaluate(MOST_AT_ONCE, "[role=listitem]") < 100
        expect(page.get_by_role("listitem").last).to_contain_text("run ended")


def test_a_session_is_deleted_after_a_second_click(page: Page, address: str) -> None:
    session = httpx2.post(f"{address}/api/sessions", json={}).json()["id"]
    httpx2.post(f"{address}/api/sessions/{session}/runs", json={"message": "to be forgotten"})
    open_run(page, address, "to be forgotten")
    page.get_by_role("button", name="Delete…").click()
    page.get_by_role("button", name="Keep it").click()
    page.get_by_role("button", name="Delete…").click()
    page.get_by_role("button", name="Delete it and all that belongs to it").click()
    expect(page.get_by_role("heading", name="Runs")).to_be_visible()
    assert httpx2.get(f"{address}/api/sessions/{session}").status_code == 404
