"""Sessions over HTTP: runs that need no listener, events that can be replayed, answers."""

import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import httpx2
import pytest
from tests.serve._agents import Held, held, wiping
from tests.serve._serving import (
    events_of,
    listening,
    new_session,
    say,
    serving,
    until,
)

from toolwright import Agent, ModelError, Runner, StoreError, deferred_tool
from toolwright.backends import PAGE, Encoded, MemoryStore, SessionRow, open_store
from toolwright.errors import UnreadableError
from toolwright.messages import (
    Event,
    ModelMessage,
    ModelReplied,
    RunEnded,
    RunStarted,
    Scope,
    ToolCall,
    TurnStarted,
    user_message,
)
from toolwright.serve import ServeSettings, create_app
from toolwright.testing import ScriptedModel, call

pytestmark = pytest.mark.anyio
OPEN = ServeSettings(requests_per_second=0)


@asynccontextmanager
async def client(runner: Runner) -> AsyncIterator[httpx2.AsyncClient]:
    with serving(create_app(runner, settings=OPEN)) as address:
        async with httpx2.AsyncClient(base_url=address) as http:
            yield http


async def ended(http: httpx2.AsyncClient, session_id: str, status: str) -> list[dict]:
    async with listening(http, f"/api/sessions/{session_id}/stream") as frames:
        seen = await until(frames, "run_ended", status=status)
    return [frame["data"] for frame in seen]


async def test_a_run_goes_on_when_nobody_listens_and_can_be_read_later() -> None:
    runner, _ = wiping(turns=[call("add", a=2, b=3), "It is 5."])
    async with client(runner) as http:
        session = await new_session(http)
        await say(http, session, "Add 2 and 3")
        seen = await ended(http, session, "done")
        assert [event["seq"] for event in seen if event["seq"]] == list(range(1, 9))
        assert (await events_of(http, session))[-1]["text"] == "It is 5."
        info = (await http.get(f"/api/sessions/{session}")).json()
        assert (info["status"], info["title"]) == ("done", "Add 2 and 3")


async def test_a_listener_comes_back_with_the_id_of_the_last_event_and_misses_nothing() -> None:
    runner, _ = wiping(turns=[call("add", a=2, b=3), "It is 5."])
    async with client(runner) as http:
        session = await new_session(http)
        path = f"/api/sessions/{session}/stream"
        await say(http, session, "Add")
        async with listening(http, path) as frames:
            first = await until(frames, "tool_started")
        async with listening(http, path, last_id=first[-1]["id"]) as frames:
            rest = await until(frames, "run_ended")
    numbers = [f["data"]["seq"] for f in [*first, *rest] if f["data"]["seq"]]
    assert numbers == list(range(1, 9))


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_after_a_restart_a_listener_goes_on_from_where_it_was(
    kind: str, tmp_path: Path
) -> None:
    store = open_store("memory://" if kind == "memory" else f"sqlite:///{tmp_path}/s.db")
    async with client(wiping(store, turns=["Hello."])[0]) as http:
        session = await new_session(http)
        path = f"/api/sessions/{session}/stream"
        async with listening(http, path) as frames:
            await say(http, session, "Hi")
            live = await until(frames, "run_ended")
    last = next(frame for frame in live if frame["data"]["seq"] == 2)
    async with client(wiping(store)[0]) as http:
        async with listening(http, path) as frames:
            stored = await until(frames, "run_ended")
        async with listening(http, path, last_id=last["id"]) as frames:
            rest = await until(frames, "run_ended")
    # What is stored is sent as it was when it happened.
    assert stored == [frame for frame in live if frame["data"]["seq"]]
    assert rest == stored[2:]


@pytest.mark.parametrize("last_id", ["2-00000000", "9-00000000", "0123abcd:3"])
async def test_an_id_of_an_event_that_was_never_stored_makes_the_listener_begin_anew(
    last_id: str,
) -> None:
    runner, _ = wiping(turns=["Hello."])
    async with client(runner) as http:
        session = await new_session(http)
        await say(http, session, "Hi")
        await ended(http, session, "done")
        path = f"/api/sessions/{session}/stream"
        async with listening(http, path, last_id=last_id) as frames:
            seen = await until(frames, "run_ended")
    assert seen[0]["event"] == "reset"
    assert seen[1]["data"]["seq"] == 1


async def test_an_event_of_the_run_that_is_going_is_known_before_it_is_stored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    runner, _ = wiping(turns=["Hello."])
    stored = threading.Event()
    real = runner.store.append

    async def append(scope: Scope, events: Sequence[Event], *args: Any, **settings: Any) -> None:
        if events[0].seq > 1:
            await anyio.to_thread.run_sync(stored.wait, 10)
        await real(scope, events, *args, **settings)

    monkeypatch.setattr(type(runner.store), "append", staticmethod(append))
    async with client(runner) as http:
        session = await new_session(http)
        path = f"/api/sessions/{session}/stream"
        await say(http, session, "Hi")
        async with listening(http, path) as frames:
            seen = await until(frames, "turn_started")
        async with listening(http, path, last_id=seen[-1]["id"]) as frames:
            stored.set()
            rest = await until(frames, "run_ended")
    numbers = [frame["data"]["seq"] for frame in [*seen, *rest] if frame["data"]["seq"]]
    assert numbers == list(range(1, len(numbers) + 1))


async def test_of_a_long_log_no_more_is_read_than_asked_for(tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path}/s.db")
    runner, _ = wiping(store)
    scope = Scope(app_name=runner.app_name, user_id="local", session_id="s")
    await store.open(scope)
    turns: list[Event] = [TurnStarted(seq=n, turn=n) for n in range(1, 1000)]
    await store.append(scope, [*turns, RunEnded(seq=1000, status="done")])
    asked: list[int] = []
    real = store.encoded_events

    async def encoded_events(scope: Scope, since: int = 0, limit: int = PAGE) -> list[Encoded]:
        asked.append(limit)
        return await real(scope, since, limit)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(store), "encoded_events", staticmethod(encoded_events))
        async with client(runner) as http:
            for query, expected, limits in (
                ("limit=3", [1, 2, 3], [3]),
                ("limit=250&since=700", list(range(701, 951)), [PAGE, 50]),
                ("limit=3&since=2000", [], [3]),
            ):
                asked.clear()
                found = (await http.get(f"/api/sessions/s/events?{query}")).json()
                assert ([event["seq"] for event in found], asked) == (expected, limits)
            assert len(await events_of(http, "s")) == 1000


async def test_an_approved_call_runs_once_and_a_second_answer_is_refused() -> None:
    runner, wiped = wiping()
    async with client(runner) as http:
        session = await new_session(http)
        await say(http, session, "Wipe staging")
        await ended(http, session, "paused")
        [waiting] = (await http.get("/api/pending")).json()
        assert (waiting["id"], waiting["pending"]["arguments"]) == (
            session,
            {"target": "staging", "force": False},
        )
        answer = {"call_id": waiting["pending"]["call_id"], "answer": {"kind": "approve"}}
        first = await http.post(f"/api/sessions/{session}/answers", json=answer)
        assert first.json() == {"outcome": "accepted"}
        await ended(http, session, "done")
        second = await http.post(f"/api/sessions/{session}/answers", json=answer)
        assert second.status_code in (404, 409)
        assert (await http.get("/api/pending")).json() == []
    assert wiped == ["staging"]


async def test_an_answer_from_a_page_left_open_answers_no_question_of_a_later_session() -> None:
    same = ToolCall(call_id="same", name="wipe", arguments='{"target": "staging"}')
    runner, wiped = wiping(
        turns=[ModelMessage(parts=(same,)), ModelMessage(parts=(same,)), "Done."]
    )
    scope = Scope(app_name=runner.app_name, user_id="user", session_id="s")
    shown = []
    async with client(runner) as http:
        for _ in range(2):
            await runner.store.open(scope)
            await say(http, "s", "Wipe staging")
            await ended(http, "s", "paused")
            [waiting] = (await http.get("/api/pending")).json()
            shown.append(waiting["pending"])
            if len(shown) == 1:
                await http.delete("/api/sessions/s")
        assert shown[0]["call_id"] == shown[1]["call_id"]
        outcomes = []
        for pending in shown:
            answer = {key: pending[key] for key in ("call_id", "key")}
            reply = await http.post(
                "/api/sessions/s/answers", json=answer | {"answer": {"kind": "approve"}}
            )
            outcomes.append((reply.status_code, len(wiped)))
        assert outcomes[0] == (404, 0)
        assert outcomes[1][0] == 200
        await ended(http, "s", "done")
    assert wiped == ["staging"]


async def test_an_approver_may_edit_the_arguments() -> None:
    runner, wiped = wiping()
    async with client(runner) as http:
        session = await new_session(http)
        await say(http, session, "Wipe staging")
        await ended(http, session, "paused")
        [waiting] = (await http.get("/api/pending")).json()
        edited = {"kind": "approve", "arguments": {"target": "a test machine"}}
        await http.post(
            f"/api/sessions/{session}/answers",
            json={"call_id": waiting["pending"]["call_id"], "answer": edited},
        )
        await ended(http, session, "done")
    assert wiped == ["a test machine"]


async def test_a_rejected_call_never_runs_and_the_model_reads_the_reason() -> None:
    runner, wiped = wiping()
    async with client(runner) as http:
        session = await new_session(http)
        await say(http, session, "Wipe staging")
        await ended(http, session, "paused")
        [waiting] = (await http.get("/api/pending")).json()
        no = {"kind": "reject", "reason": "Not on a Friday."}
        await http.post(
            f"/api/sessions/{session}/answers",
            json={"call_id": waiting["pending"]["call_id"], "answer": no},
        )
        seen = await ended(http, session, "done")
    [result] = [event["result"] for event in seen if event["type"] == "tool_ended"]
    assert wiped == []
    assert result["status"] == "denied"
    assert "Not on a Friday." in result["content"][0]["text"]


async def test_an_answer_that_does_not_fit_is_refused_with_what_was_wanted() -> None:
    runner, _ = wiping()
    async with client(runner) as http:
        session = await new_session(http)
        await say(http, session, "Wipe staging")
        await ended(http, session, "paused")
        [waiting] = (await http.get("/api/pending")).json()
        wrong = {"call_id": waiting["pending"]["call_id"], "answer": {"kind": "value", "value": 7}}
        reply = await http.post(f"/api/sessions/{session}/answers", json=wrong)
        assert reply.status_code == 422
        assert "waits for a confirmation" in reply.json()["detail"]
        unknown = {"call_id": "nothing", "answer": {"kind": "approve"}}
        assert (
            await http.post(f"/api/sessions/{session}/answers", json=unknown)
        ).status_code == 404


async def test_an_answer_reaches_everyone_who_watches_at_once() -> None:
    runner, _ = wiping()
    async with client(runner) as http, listening(http, "/api/stream") as frames:
        session = await new_session(http)
        await say(http, session, "Wipe staging")
        opened = (await until(frames, "pending_opened"))[-1]["data"]
        assert (opened["kind"], opened["id"]) == ("session", session)
        call_id = opened["event"]["pending"]["call_id"]
        yes = {"call_id": call_id, "answer": {"kind": "approve"}}
        await http.post(f"/api/sessions/{session}/answers", json=yes)
        answered = (await until(frames, "pending_answered"))[-1]["data"]
        assert answered["event"]["call_id"] == call_id


async def test_a_branch_begins_as_its_session_did_and_leaves_it_alone() -> None:
    runner, _ = wiping(turns=["One.", "Two."])
    async with client(runner) as http:
        session = await new_session(http)
        await say(http, session, "First")
        await ended(http, session, "done")
        branch = (await http.post(f"/api/sessions/{session}/branch", json={"upto": 4})).json()
        await say(http, branch["id"], "Second")
        async with listening(http, f"/api/sessions/{branch['id']}/stream") as frames:
            await until(frames, "run_ended", text="Two.")
        assert len(await events_of(http, session)) == 4


async def test_what_is_not_there_is_said_to_be_not_there() -> None:
    runner, _ = wiping()
    async with client(runner) as http:
        for path in ("/api/sessions/none", "/api/sessions/none/stream", "/api/nothing"):
            reply = await http.get(path)
            assert reply.status_code == 404
            assert reply.headers["content-type"] == "application/problem+json"
        session = await new_session(http)
        assert (await http.post(f"/api/sessions/{session}/cancel")).status_code == 409
        assert (await http.post(f"/api/sessions/{session}/resume")).status_code == 409


async def test_a_field_that_does_not_exist_is_refused_by_name() -> None:
    runner, _ = wiping()
    async with client(runner) as http:
        reply = await http.post("/api/sessions", json={"sesion_id": "typo"})
        assert reply.status_code == 422
        assert reply.json()["issues"] == ["sesion_id: Extra inputs are not permitted"]


async def test_a_deleted_session_is_gone() -> None:
    runner, _ = wiping()
    async with client(runner) as http:
        session = await new_session(http, session_id="mine")
        assert (await http.delete(f"/api/sessions/{session}")).status_code == 204
        assert (await http.get(f"/api/sessions/{session}")).status_code == 404


@asynccontextmanager
async def inside(runner: Runner) -> AsyncIterator[httpx2.AsyncClient]:
    """A client of a server in this event loop, so that the test can hold the model."""
    app = create_app(runner, settings=OPEN)
    async with app.router.lifespan_context(app):
        transport = httpx2.ASGITransport(app)
        async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
            yield http


async def half_said(http: httpx2.AsyncClient, model: Held) -> str:
    session = await new_session(http)
    await say(http, session, "Speak")
    with anyio.fail_after(30):
        await model.half_said.wait()
    return session


async def test_a_session_with_a_run_takes_no_second_one_but_can_be_stopped() -> None:
    runner, model = held()
    async with inside(runner) as http:
        session = await half_said(http, model)
        again = await http.post(f"/api/sessions/{session}/runs", json={"message": "And?"})
        assert again.status_code == 409
        assert (await http.delete(f"/api/sessions/{session}")).status_code == 409
        assert (await http.post(f"/api/sessions/{session}/cancel")).status_code == 204
        with anyio.fail_after(30):
            while (await http.get(f"/api/sessions/{session}")).json()["status"] == "running":
                await anyio.lowlevel.checkpoint()
        last = (await events_of(http, session))[-1]
        assert (last["status"], last["reason"]) == ("stopped", "cancelled")


async def test_a_message_can_be_put_into_a_run() -> None:
    runner, model = held()
    async with inside(runner) as http:
        session = await half_said(http, model)
        steered = await http.post(f"/api/sessions/{session}/steer", json={"message": "Louder"})
        assert steered.status_code == 204
        model.let_go()
        with anyio.fail_after(30):
            while (await http.get(f"/api/sessions/{session}")).json()["status"] == "running":
                await anyio.lowlevel.checkpoint()
        assert "steered" in [event["type"] for event in await events_of(http, session)]


async def test_two_calls_answered_at_the_same_moment_are_both_accepted() -> None:
    both = [call("wipe", target="one"), call("wipe", target="two")]
    runner, wiped = wiping(turns=[both, "Done."])
    async with client(runner) as http:
        session = await new_session(http)
        await say(http, session, "Wipe both")
        await ended(http, session, "paused")
        waiting = (await http.get("/api/pending")).json()
        replies: list[int] = []

        async def approve(call_id: str) -> None:
            yes = {"call_id": call_id, "answer": {"kind": "approve"}}
            reply = await http.post(f"/api/sessions/{session}/answers", json=yes)
            replies.append(reply.status_code)

        async with anyio.create_task_group() as group:
            for one in waiting:
                group.start_soon(approve, one["pending"]["call_id"])
        await ended(http, session, "done")
    assert replies == [200, 200]
    assert sorted(wiped) == ["one", "two"]


class Failing(MemoryStore):
    """A store that cannot open one session."""

    async def open(self, scope: Scope) -> SessionRow:
        if scope.session_id == "broken":
            raise StoreError("The disk is full.")
        return await super().open(scope)


async def test_a_run_that_cannot_begin_says_why_and_the_server_goes_on() -> None:
    runner, _ = wiping(turns=["Hello."])
    broken = Runner(runner.agent, app_name="test", store=Failing())
    async with client(broken) as http:
        reply = await http.post("/api/sessions", json={"session_id": "broken"})
        assert (reply.status_code, reply.json()["detail"]) == (503, "The disk is full.")
        session = await new_session(http)
        await say(http, session, "Hi")
        await ended(http, session, "done")


async def test_a_model_that_fails_ends_its_run_and_no_other() -> None:
    runner, _ = wiping(turns=[ModelError("No credit left.", reason="auth"), "Hello."])
    async with client(runner) as http:
        session = await new_session(http)
        await http.post(f"/api/sessions/{session}/runs", json={"message": "Hi"})
        seen = await ended(http, session, "stopped")
        assert "No credit left." in seen[-1]["reason"]
        other = await new_session(http)
        await say(http, other, "Hi")
        await ended(http, other, "done")


async def test_a_run_that_a_crash_cut_off_goes_on_when_the_server_starts() -> None:
    runner, _ = wiping(turns=["It is 5."])
    asked = ToolCall(call_id="c1", name="add", arguments='{"a": 2, "b": 3}')
    scope = Scope(app_name="test", user_id="local", session_id="cut-off")
    await runner.store.open(scope)
    await runner.store.append(
        scope,
        [
            RunStarted(seq=1, at=1.0, agent="cleaner", message=user_message("Add 2 and 3")),
            TurnStarted(seq=2, at=2.0, agent="cleaner", turn=1),
            ModelReplied(seq=3, at=3.0, agent="cleaner", message=ModelMessage(parts=(asked,))),
        ],
    )
    async with client(runner) as http:
        seen = await ended(http, "cut-off", "done")
    [result] = [event["result"] for event in seen if event["type"] == "tool_ended"]
    assert result["content"][0]["text"] == "5"
    assert [event["seq"] for event in seen if event["seq"]] == list(range(1, len(seen) + 1))


async def test_a_run_that_was_stopped_with_the_server_goes_on_with_the_next_one() -> None:
    runner, model = held()
    async with inside(runner) as http:
        session = await half_said(http, model)
    model.let_go()
    async with inside(runner) as http:
        with anyio.fail_after(30):
            while (await http.get(f"/api/sessions/{session}")).json()["status"] != "done":
                await anyio.lowlevel.checkpoint()
        assert (await events_of(http, session))[-1]["text"] == "Half a sentence."


async def test_a_run_that_a_person_stopped_stays_stopped() -> None:
    runner, model = held()
    async with inside(runner) as http:
        session = await half_said(http, model)
        await http.post(f"/api/sessions/{session}/cancel")
        with anyio.fail_after(30):
            while (await http.get(f"/api/sessions/{session}")).json()["status"] == "running":
                await anyio.lowlevel.checkpoint()
    model.let_go()
    async with inside(runner) as http:
        assert (await http.get(f"/api/sessions/{session}")).json()["status"] == "stopped"


@deferred_tool(timeout=3600)
async def order(part: str) -> None:
    """Order a part; it comes later."""


def ordering(last: str | Exception) -> Runner:
    """An agent that orders a part, is told something else meanwhile, and then says `last`."""
    model = ScriptedModel(call("order", part="gear"), "Meanwhile, hello.", last)
    return Runner(Agent(name="buyer", model=model, tools=[order]), app_name="test")


async def answer_late(http: httpx2.AsyncClient) -> tuple[str, httpx2.Response]:
    session = await new_session(http)
    await say(http, session, "Order a gear")
    await ended(http, session, "paused")
    await say(http, session, "Hello")
    await ended(http, session, "done")
    (waiting,) = (await http.get("/api/pending")).json()
    body = {"call_id": waiting["pending"]["call_id"], "answer": {"kind": "value", "value": "here"}}
    return session, await http.post(f"/api/sessions/{session}/answers", json=body)


async def last_end(http: httpx2.AsyncClient, session: str, runs: int) -> dict:
    """The end of the session's run number `runs`."""
    async with listening(http, f"/api/sessions/{session}/stream") as frames:
        ends = [await until(frames, "run_ended") for _ in range(runs)]
    return ends[-1][-1]["data"]


@pytest.mark.parametrize("failure", [ModelError("overloaded"), RuntimeError("a bug")])
async def test_a_late_answer_is_accepted_though_the_run_that_follows_fails(
    failure: Exception,
) -> None:
    async with client(ordering(failure)) as http:
        session, reply = await answer_late(http)
        assert (reply.status_code, reply.json()) == (200, {"outcome": "accepted"})
        end = await last_end(http, session, runs=3)
        assert end["status"] == "stopped"
        assert str(failure) in end["reason"]


async def test_a_late_answer_is_told_to_the_model_and_its_reply_is_streamed() -> None:
    async with client(ordering("The gear is here.")) as http:
        session, reply = await answer_late(http)
        assert reply.status_code == 200
        assert (await last_end(http, session, runs=3))["text"] == "The gear is here."
        told = [event for event in await events_of(http, session) if "here" in str(event)]
        assert "order" in str(told[0])


async def test_an_answer_is_accepted_though_the_run_cannot_even_start() -> None:
    runner, _ = wiping()
    async with client(runner) as http:
        session = await new_session(http)
        await say(http, session, "Wipe it")
        await ended(http, session, "paused")
        (waiting,) = (await http.get("/api/pending")).json()

        def broken(*args: object, **settings: object) -> None:
            raise StoreError("the disk is full")

        runner.stream = broken  # type: ignore[method-assign,assignment]
        body = {"call_id": waiting["pending"]["call_id"], "answer": {"kind": "approve"}}
        reply = await http.post(f"/api/sessions/{session}/answers", json=body)
        assert (reply.status_code, reply.json()) == (200, {"outcome": "accepted"})


class Damaged(MemoryStore):
    """Cannot read one of its sessions."""

    async def events(self, scope: Scope, since: int = 0) -> list[Event]:
        if scope.session_id == "bad":
            raise UnreadableError("Unreadable log entry '{'")
        return await super().events(scope, since)

    async def encoded_events(
        self, scope: Scope, since: int = 0, limit: int = PAGE
    ) -> list[Encoded]:
        if scope.session_id == "bad":
            return [Encoded(1, "{")]
        return await super().encoded_events(scope, since, limit)


async def test_a_session_that_cannot_be_read_is_listed_beside_the_others(
    caplog: pytest.LogCaptureFixture,
) -> None:
    runner = Runner(Agent(name="a", model=ScriptedModel("1", "2")), store=Damaged())
    for session in ("good", "bad"):
        await runner.run("hello", session_id=session)
    async with client(runner) as http:
        for _ in range(2):
            shown = (await http.get("/api/sessions")).json()
            assert {row["id"]: row["status"] for row in shown} == {"good": "done", "bad": "stopped"}
        refused = await http.get("/api/sessions/bad/events")
    assert (refused.status_code, "Unreadable" in refused.json()["detail"]) == (503, True)
    told = [r for r in caplog.records if r.levelname == "WARNING" and "'bad'" in r.message]
    assert len(told) == 1
