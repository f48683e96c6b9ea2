"""A session that another process holds, over HTTP: refused with the reason, and gone on with later."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from tests.serve._agents import wiping

from toolwright import Runner
from toolwright.backends import Hold, MemoryStore, SqlStore
from toolwright.messages import Approve, RunEnded, RunStarted, Scope, user_message
from toolwright.serve import ServeSettings, _background, create_app
from toolwright.serve.live import LiveRuns, Notices, _runs
from toolwright.testing import call

pytestmark = pytest.mark.anyio
SCOPE = Scope(app_name="test", user_id="local", session_id="s")
THEIRS = Hold(id="theirs", since=0.0)


@asynccontextmanager
async def client(runner: Runner) -> AsyncIterator[httpx2.AsyncClient]:
    """A client of a server in this event loop, so that the test can be the other process."""
    app = create_app(runner, settings=ServeSettings(requests_per_second=0, agui=True))
    async with app.router.lifespan_context(app):
        transport = httpx2.ASGITransport(app)
        async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
            yield http


async def take(store: MemoryStore) -> None:
    """As another process does that begins a run, or goes on with one."""
    row = await store.open(SCOPE)
    message = None if row.last_seq else user_message("Hello")
    started = RunStarted(seq=row.last_seq + 1, at=1.0, message=message)
    await store.append(SCOPE, [started], replace(THEIRS, first=True))


async def status(http: httpx2.AsyncClient) -> str:
    return (await http.get("/api/sessions/s")).json()["status"]


async def becomes(http: httpx2.AsyncClient, wanted: str) -> None:
    with anyio.fail_after(30):
        while await status(http) != wanted:
            await anyio.lowlevel.checkpoint()


async def test_what_needs_the_session_is_refused_with_the_reason() -> None:
    store = MemoryStore()
    runner, wiped = wiping(store=store)
    async with client(runner) as http:
        await take(store)
        assert await status(http) == "running"
        replies = {
            "runs": await http.post("/api/sessions/s/runs", json={"message": "Wipe"}),
            "resume": await http.post("/api/sessions/s/resume"),
            "steer": await http.post("/api/sessions/s/steer", json={"message": "Stop"}),
            "cancel": await http.post("/api/sessions/s/cancel"),
            "delete": await http.delete("/api/sessions/s"),
        }
        body = {
            "threadId": "s", "runId": "r", "state": {}, "tools": [], "context": [],
            "forwardedProps": {}, "messages": [{"id": "m", "role": "user", "content": "Wipe"}],
        }  # fmt: skip
        replies["agui"] = await http.post("/agui", json=body)
        events = await store.events(SCOPE)
    assert {name: reply.status_code for name, reply in replies.items()} == dict.fromkeys(
        replies, 409
    )
    for name in ("runs", "agui"):
        detail = replies[name].json()["detail"]
        assert detail.startswith("Session 's' is held by process ")
        assert "nothing was run here" in detail
    for name in ("resume", "steer", "cancel", "delete"):
        detail = replies[name].json()["detail"]
        assert detail.startswith("The run of this session is going in process ")
    assert (len(events), wiped) == (1, [])


async def test_a_server_that_starts_goes_on_with_what_another_process_leaves_behind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_runs, "_LOOK_SECONDS", 0.001)
    store = MemoryStore()
    await take(store)
    runner, _ = wiping(store=store, turns=["Gone on with."])
    async with client(runner) as http:
        assert await status(http) == "running"
        assert len(await store.events(SCOPE)) == 1
        await store.release(SCOPE, "theirs")  # as when it has died
        await becomes(http, "done")


async def test_a_server_that_starts_leaves_alone_what_another_process_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_runs, "_LOOK_SECONDS", 0.001)
    looked, look = anyio.Event(), _background._resume

    async def look_again(*args: Any) -> None:
        await look(*args)
        if len(await store.events(SCOPE)) > 1:
            looked.set()

    monkeypatch.setattr(_background, "_resume", look_again)
    store = MemoryStore()
    await take(store)
    runner, _ = wiping(store=store, turns=["Once more."])
    async with client(runner) as http:
        end = RunEnded(seq=2, status="done", text="Ended there.")
        await store.append(SCOPE, [end], replace(THEIRS, last=True))
        with anyio.fail_after(30):
            await looked.wait()
        assert await status(http) == "done"
    assert len(await store.events(SCOPE)) == 2


async def test_an_answer_to_a_held_session_is_taken_and_used_when_that_is_free(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_runs, "_LOOK_SECONDS", 0.001)
    store = MemoryStore()
    two = [call("wipe", target="one"), call("wipe", target="two")]
    runner, wiped = wiping(store=store, turns=[two, "Done."])
    paused = await runner.run("Wipe", user_id="local", session_id="s")
    async with client(runner) as http:
        await take(store)
        for pending in paused.pending:
            body = {"call_id": pending.call_id, "answer": {"kind": "approve"}}
            reply = await http.post("/api/sessions/s/answers", json=body)
            assert reply.json() == {"outcome": "accepted"}
        assert wiped == []
        end = RunEnded(seq=len(await store.events(SCOPE)) + 1, status="paused")
        await store.append(SCOPE, [end], replace(THEIRS, last=True))
        await becomes(http, "done")
    assert sorted(wiped) == ["one", "two"]


async def test_an_answer_that_the_other_process_has_used_sets_nothing_going(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_runs, "_LOOK_SECONDS", 0.001)
    store = MemoryStore()
    runner, wiped = wiping(store=store)
    [pending] = (await runner.run("Wipe", user_id="local", session_id="s")).pending
    other, runs = Runner(runner.agent, app_name="test", store=store), LiveRuns(runner, Notices())
    with anyio.fail_after(30):
        async with runs.open():
            await take(store)
            row = await store.open(SCOPE)
            assert await runs.answer(row, pending.call_id, Approve()) == "accepted"
            assert runs._awaited == {"s"}
            await store.release(SCOPE, "theirs")
            assert (await other.resume("s")).text == "Done."
            before = len(await store.events(SCOPE))
            while runs._awaited or runs.running:
                await anyio.lowlevel.checkpoint()
    assert (wiped, len(await store.events(SCOPE))) == (["staging"], before)


async def test_a_process_that_shows_no_life_turns_health_red(tmp_path: Path) -> None:
    store = SqlStore(f"sqlite:///{tmp_path}/s.db", lease=3000.0)
    runner, _ = wiping(store=store)
    async with client(runner) as http:
        await store.open(SCOPE)
        await store.append(SCOPE, [RunStarted(seq=1)], replace(THEIRS, first=True))
        assert (await http.get("/api/health")).status_code == 200
        store._holds._beat_at -= 3001
        reply = await http.get("/api/health")
        assert reply.status_code == 503
        assert reply.json()["issues"][0].startswith("heartbeat: There was no sign of life for 30")
        store._holds._beat()
        assert (await http.get("/api/health")).status_code == 200
        await store.release(SCOPE, "theirs")
