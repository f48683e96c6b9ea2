"""How a session stands in lists: what became of its last run, and whether a call still waits."""

import logging
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.serve._serving import serving
from tests.serve._workbench import bench_runner, spoil

from toolwright import Runner
from toolwright.backends import MemoryStore, OpenCall, SessionRow
from toolwright.errors import UnreadableError
from toolwright.messages import PendingAnswered
from toolwright.serve import ServeSettings, create_app
from toolwright.serve._sessions import Sessions
from toolwright.serve.live import LiveRuns, Notices
from toolwright.testing import call

pytestmark = pytest.mark.anyio


async def left_waiting(runner: Runner) -> SessionRow:
    """A session whose person wrote on while a deferred call waited; another one beside it is done."""
    for session, message in (("late", "defer"), ("late", "hello"), ("other", "hello")):
        await runner.run(message, session_id=session, user_id="u")
    row = await runner.store.find(runner.app_name, "late")
    assert row is not None
    return row


async def statuses(runner: Runner) -> list[dict[str, str]]:
    """By the list and by one session at a time."""
    sessions = Sessions(runner, LiveRuns(runner, Notices()))
    rows = await runner.sessions()
    told = [await sessions.describe_all(rows), [await sessions.describe(row) for row in rows]]
    return [{info.id: info.status for info in infos} for infos in told]


async def test_a_session_waits_for_as_long_as_one_of_its_calls_does() -> None:
    async with bench_runner() as runner:
        await left_waiting(runner)
        assert await statuses(runner) == [{"late": "waiting", "other": "done"}] * 2
        [pending] = await runner.pending("late")
        await runner.answer("late", pending.call_id, "77 EUR")
        assert await statuses(runner) == [{"late": "done", "other": "done"}] * 2
        await runner.resume("late")
        assert await statuses(runner) == [{"late": "done", "other": "done"}] * 2


async def test_whoever_follows_a_run_is_told_the_answer_that_it_goes_on_with() -> None:
    async with bench_runner() as runner:
        row = await left_waiting(runner)
        [pending] = await runner.pending("late")
        await runner.answer("late", pending.call_id, "77 EUR")
        live = [e async for e in runner.stream(None, session_id="late", user_id="u")]
        stored = await runner.store.events(row.scope, row.last_seq)
        assert isinstance(stored[0], PendingAnswered)
        assert [event for event in live if event.seq] == stored


async def test_there_is_nothing_to_resume_while_only_the_outside_is_waited_for() -> None:
    runner = bench_runner()
    await left_waiting(runner)
    settings = ServeSettings(requests_per_second=0)
    with serving(create_app(runner, settings=settings)) as address:
        async with httpx2.AsyncClient(base_url=address) as http:
            listed = {s["id"]: s["status"] for s in (await http.get("/api/sessions")).json()}
            refused = await http.post("/api/sessions/late/resume")
    assert listed == {"late": "waiting", "other": "done"}
    assert refused.status_code == 409
    assert refused.json()["detail"] == "This session is done; there is nothing to go on with."


class _Torn(MemoryStore):
    async def open_calls(self, app_name: str, session_id: str | None = None) -> list[OpenCall]:
        if session_id is None:
            return []
        raise UnreadableError("Unreadable pending call '{': it ends too early")


async def test_a_call_that_cannot_be_read_does_not_hide_its_session(
    caplog: pytest.LogCaptureFixture,
) -> None:
    runner: Any = bench_runner()
    await left_waiting(runner)
    runner.store.__class__ = _Torn
    with caplog.at_level(logging.WARNING):
        assert await statuses(runner) == [{"late": "done", "other": "done"}] * 2
    assert "it ends too early" in caplog.text


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        ({"body": '{"kind": "hologram"}'}, "Unreadable pending call"),
        ({"body": "{"}, "Unreadable pending call"),
        ({"body": "{", "deadline": "1"}, "Unreadable pending call"),
        ({"answer": "{", "answered_at": "1"}, ""),
        ({"answer": '{"secret-of-somebody'}, "Unreadable answer to a pending call."),
    ],
)
async def test_the_list_of_what_waits_says_which_call_cannot_be_read(
    tmp_path: Path, columns: dict[str, str], problem: str
) -> None:
    runner = bench_runner(f"sqlite:///{tmp_path}/s.db")
    settings = ServeSettings(requests_per_second=0)
    for session in ("bad", "good"):
        await runner.run("defer", session_id=session, user_id="u")
    await spoil(runner.store, "bad", **columns)
    with serving(create_app(runner, settings=settings)) as address:
        async with httpx2.AsyncClient(base_url=address) as http:
            listed = {one["id"]: one for one in (await http.get("/api/pending")).json()}
            one = (await http.get("/api/sessions/bad")).json()
            [same] = [s for s in (await http.get("/api/sessions")).json() if s["id"] == "bad"]
            given = {"call_id": "c1-0", "answer": {"kind": "value", "value": "x"}}
            refused = await http.post("/api/sessions/bad/answers", json=given)
    assert listed["good"]["problem"] == ""
    assert one["status"] == same["status"]
    assert refused.status_code == 503
    # An answered call is waited for no more, whatever came of it.
    assert set(listed) == ({"bad", "good"} if problem else {"good"})
    if problem:
        assert listed["bad"]["problem"].startswith(problem)
        assert listed["bad"]["pending"]["call_id"] == "c1-0"
        assert "secret-of-somebody" not in str(listed)


async def test_a_session_stands_the_same_in_the_list_and_alone_when_its_call_cannot_be_read(
    tmp_path: Path,
) -> None:
    async with bench_runner(f"sqlite:///{tmp_path}/s.db") as runner:
        await left_waiting(runner)
        await spoil(runner.store, "late", body="{")
        assert await statuses(runner) == [{"late": "waiting", "other": "done"}] * 2


async def test_nothing_goes_on_with_a_session_of_which_one_call_cannot_be_read(
    tmp_path: Path,
) -> None:
    story = {"two": [[call("order_parts", part="a"), call("order_parts", part="b")], "Both."]}
    async with bench_runner(f"sqlite:///{tmp_path}/s.db", story=story) as runner:
        await runner.run("two", session_id="s", user_id="u")
        for pending in await runner.pending("s"):
            await runner.answer("s", pending.call_id, "here")
        assert [row.scope.session_id for row in await runner.unfinished()] == ["s"]
        await spoil(runner.store, "s", "c1-1", answer="{")
        assert await runner.unfinished() == []
