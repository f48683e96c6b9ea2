"""What every store must do, as checks that its author can run."""

import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import anyio

from toolwright.backends import Store
from toolwright.errors import StoreError, UsageError
from toolwright.messages import (
    Actions,
    Answered,
    BlobPart,
    Event,
    ModelMessage,
    ModelReplied,
    Pending,
    PendingAnswered,
    PendingOpened,
    RunEnded,
    RunStarted,
    Scope,
    StateChanged,
    TextPart,
    ToolCall,
    ToolEnded,
    ToolResult,
    ToolStarted,
    UserMessage,
)
from toolwright.testing._checks import raises, run_checks

__all__ = ["STORE_CHECKS", "check_store"]

ADA = Scope(app_name="app", user_id="ada", session_id="s1")
BOB = Scope(app_name="app", user_id="bob", session_id="s2")


async def check_store(factory: Callable[[], Store]) -> None:
    """Run every check on a fresh, empty store from `factory`; the first failure is raised."""
    await run_checks(STORE_CHECKS, factory)


async def check_sessions_are_opened_once(store: Store) -> None:
    """Opening makes a session; opening it again finds the same one."""
    assert await store.find("app", "s1") is None
    made = await store.open(ADA)
    assert (made.scope, made.last_seq, made.title) == (ADA, 0, "")
    assert await store.open(ADA) == made
    assert await store.find("app", "s1") == made
    assert await store.find("other", "s1") is None


async def check_other_users_are_kept_out(store: Store) -> None:
    """A session shows nothing of itself to another user."""
    await _with(store, ADA, StateChanged(delta={"x": 1}))
    stranger = replace(ADA, user_id="bob")
    await raises(UsageError, store.open(stranger))
    await raises(StoreError, store.append(stranger, [RunStarted(seq=2)]))
    await raises(UsageError, store.branch(stranger, "s9"))
    assert await store.events(stranger) == []
    assert await store.state(stranger) == {}
    await store.delete(stranger)
    assert len(await store.events(ADA)) == 1
    assert await store.state(ADA) == {"x": 1}


async def check_events_come_back_as_they_were(store: Store) -> None:
    """All that was appended is read in order, unchanged, whole or from a point on."""
    events = _conversation()
    await store.open(ADA)
    await store.append(ADA, events[:2])
    await store.append(ADA, events[2:])
    await store.append(ADA, [])
    assert await store.events(ADA) == events
    assert await store.events(ADA, since=2) == events[2:]
    assert await store.events(ADA, since=99) == []
    row = await store.find("app", "s1")
    assert row is not None
    assert (row.last_seq, row.title) == (len(events), "Wipe staging, please")
    assert row.updated_at >= row.created_at


async def check_a_session_is_loaded_whole(store: Store) -> None:
    """Loading makes a session, or gives all of it at once; strangers get nothing."""
    made = await store.load(ADA)
    assert (made.row.last_seq, made.events, made.calls, dict(made.state)) == (0, (), (), {})
    waits = PendingOpened(seq=2, pending=Pending(call_id="c1", name="ask", kind="choice"))
    events: list[Event] = [StateChanged(seq=1, delta={"x": 1}), waits]
    await store.append(ADA, events)
    await _answer(store, "c1", "yes", "accepted")
    found = await store.load(ADA)
    assert (found.row.last_seq, list(found.events)) == (2, events)
    assert [(c.pending.call_id, c.answered, c.answer) for c in found.calls] == [("c1", True, "yes")]
    assert dict(found.state) == {"x": 1}
    await raises(UsageError, store.load(replace(ADA, user_id="bob")))


async def check_only_events_that_follow_on_are_taken(store: Store) -> None:
    """A gap, a repetition or an unopened session is refused, and nothing of it is kept."""
    await raises(StoreError, store.append(ADA, [RunStarted(seq=1)]))
    await _with(store, ADA, RunStarted(), RunEnded(status="done"))
    change = StateChanged(seq=2, delta={"lost": True})
    await raises(StoreError, store.append(ADA, [change]))
    await raises(StoreError, store.append(ADA, [replace(change, seq=4)]))
    await raises(StoreError, store.append(ADA, [replace(change, seq=3), RunStarted(seq=5)]))
    assert len(await store.events(ADA)) == 2
    assert await store.state(ADA) == {}


async def check_of_many_runs_at_once_one_writes(store: Store) -> None:
    """When several runs write the same position at once, exactly one succeeds."""
    await store.open(ADA)
    written: list[str] = []

    async def write(name: str) -> None:
        try:
            await store.append(ADA, [StateChanged(seq=1, delta={"by": name})])
        except StoreError:
            return
        written.append(name)

    async with anyio.create_task_group() as tasks:
        for name in ("one", "two", "three"):
            tasks.start_soon(write, name)
    assert len(written) == 1
    assert await store.state(ADA) == {"by": written[0]}


async def check_state_goes_where_its_prefix_says(store: Store) -> None:
    """`app:` keys are everyone's, `user:` keys the user's, others the session's."""
    delta = {"app:a": 1, "user:u": {"deep": [1, 2]}, "own": "x", "temp:t": 1}
    await _with(store, ADA, _ended("c1", Actions(state_delta=delta)))
    await store.open(BOB)
    second = replace(ADA, session_id="s3")
    await store.open(second)
    assert await store.state(ADA) == {"app:a": 1, "user:u": {"deep": [1, 2]}, "own": "x"}
    assert await store.state(second) == {"app:a": 1, "user:u": {"deep": [1, 2]}}
    assert await store.state(BOB) == {"app:a": 1}
    assert await store.state(replace(ADA, app_name="other")) == {}


async def check_state_follows_the_events(store: Store) -> None:
    """Later changes win, None takes a key away, and what is read is a copy."""
    opened = PendingOpened(pending=_pending("c2"), actions=Actions(state_delta={"p": 1}))
    await _with(
        store,
        ADA,
        StateChanged(delta={"a": 1, "b": 1, "list": [1]}),
        _ended("c1", Actions(state_delta={"a": 2, "b": None})),
        opened,
    )
    state = await store.state(ADA)
    assert state == {"a": 2, "list": [1], "p": 1}
    state["list"].append(2)
    assert (await store.state(ADA))["list"] == [1]


async def check_calls_are_open_until_they_end(store: Store) -> None:
    """A pending call is listed until its result, with its answer once that has come."""
    asked = _pending("c1", payload={"rows": 3}, deadline=time.time() + 60)
    await _with(store, ADA, PendingOpened(pending=asked))
    await _with(store, BOB, PendingOpened(pending=_pending("c1")))
    [call] = await store.open_calls("app", "s1")
    assert (call.scope, call.pending, call.answered, call.answer) == (ADA, asked, False, None)
    assert len(await store.open_calls("app")) == 2
    assert await store.open_calls("other") == []
    await _answer(store, "c1", {"kind": "approve"}, "accepted")
    [call] = await store.open_calls("app", "s1")
    assert (call.answered, call.answer) == (True, {"kind": "approve"})
    await store.append(ADA, [PendingAnswered(seq=2, call_id="c1")])
    assert len(await store.open_calls("app", "s1")) == 1
    await store.append(ADA, [replace(_ended("c1"), seq=3)])
    assert await store.open_calls("app", "s1") == []


async def check_the_end_of_a_call_closes_what_it_asked(store: Store) -> None:
    """Repeated and nested questions of a call are closed with it, those of others are not."""
    ids = ["c1", "c1~2", "c1/in", "c10", "c2/c1"]
    await _with(store, ADA, *(PendingOpened(pending=_pending(i)) for i in ids))
    await store.append(ADA, [replace(_ended("c1"), seq=6)])
    assert await _open_ids(store) == ["c10", "c2/c1"]
    await store.append(ADA, [replace(_ended("c1"), seq=7, path="c2")])
    assert await _open_ids(store) == ["c10"]


async def check_a_call_nobody_waits_for_outlives_its_result(store: Store) -> None:
    """A call that does not block has a result at once; it is closed when its answer is used."""
    later = replace(_pending("c1"), blocking=False)
    await _with(store, ADA, PendingOpened(pending=later), _ended("c1"))
    assert await _open_ids(store) == ["c1"]
    await _answer(store, "c1", "done", "accepted")
    await store.append(ADA, [PendingAnswered(seq=3, call_id="c1", answer="done")])
    assert await _open_ids(store) == []


async def check_the_first_answer_wins(store: Store) -> None:
    """Each later, late, lost or unknown answer is told apart."""
    past = _pending("late", deadline=time.time() - 1)
    opened = [PendingOpened(pending=p) for p in (_pending("c1"), past, _pending("c3"))]
    await _with(store, ADA, *opened, _ended("c3"))
    await _answer(store, "c1", None, "accepted")
    await _answer(store, "c1", 2, "duplicate")
    await _answer(store, "late", 1, "expired")
    await _answer(store, "c3", 1, "finished")
    await _answer(store, "c9", 1, "unknown")
    assert await store.answer("app", "s9", "c1", 1) == "unknown"
    calls = {c.pending.call_id: (c.answered, c.answer) for c in await store.open_calls("app", "s1")}
    assert calls == {"c1": (True, None), "late": (False, None)}
    await store.append(ADA, [replace(_ended("c1"), seq=5)])
    await _answer(store, "c1", 3, "duplicate")


async def check_of_many_answers_at_once_one_is_accepted(store: Store) -> None:
    """Twenty answers race; one is accepted, and it is the one that is kept."""
    await _with(store, ADA, PendingOpened(pending=_pending("c1")))
    outcomes: dict[int, Answered] = {}

    async def answer(number: int) -> None:
        outcomes[number] = await store.answer("app", "s1", "c1", number)

    async with anyio.create_task_group() as tasks:
        for number in range(20):
            tasks.start_soon(answer, number)
    accepted = [number for number, outcome in outcomes.items() if outcome == "accepted"]
    assert len(accepted) == 1
    assert list(outcomes.values()).count("duplicate") == 19
    [call] = await store.open_calls("app", "s1")
    assert call.answer == accepted[0]


async def check_sessions_are_listed_latest_first(store: Store) -> None:
    """By app, and by user when one is named."""
    third = replace(ADA, session_id="s3")
    for scope in (ADA, BOB, third):
        await store.open(scope)
        await anyio.sleep(0.002)  # Some clocks tick slowly.
    await store.append(ADA, [RunStarted(seq=1)])
    assert [row.scope for row in await store.sessions("app")] == [ADA, third, BOB]
    assert [row.scope for row in await store.sessions("app", "ada")] == [ADA, third]
    assert await store.sessions("other") == []


async def check_deleting_forgets_all_of_a_session(store: Store) -> None:
    """Its events, calls and own state go; the user's and the app's state stay."""
    delta = {"own": 1, "user:u": 2, "app:a": 3}
    await _with(store, ADA, StateChanged(delta=delta), PendingOpened(pending=_pending("c1")))
    await store.delete(ADA)
    await store.delete(ADA)
    assert await store.find("app", "s1") is None
    assert await store.events(ADA) == []
    assert await store.open_calls("app") == []
    await _answer(store, "c1", 1, "unknown")
    assert (await store.open(ADA)).last_seq == 0
    assert await store.state(ADA) == {"user:u": 2, "app:a": 3}


async def check_a_branch_is_the_session_up_to_a_point(store: Store) -> None:
    """It has the events, own state and open calls of then, and goes its own way."""
    await _with(
        store,
        ADA,
        RunStarted(message=UserMessage((TextPart("Hello"),))),
        StateChanged(delta={"n": 1, "user:u": "then"}),
        PendingOpened(pending=_pending("c1")),
        StateChanged(delta={"n": 2, "user:u": "now"}),
        _ended("c1"),
    )
    row = await store.branch(ADA, "b1", upto=3)
    branch = replace(ADA, session_id="b1")
    assert (row.scope, row.last_seq, row.title) == (branch, 3, "Hello")
    assert await store.events(branch) == (await store.events(ADA))[:3]
    assert await store.state(branch) == {"n": 1, "user:u": "now"}
    assert len(await store.open_calls("app", "b1")) == 1
    await store.append(branch, [StateChanged(seq=4, delta={"n": 9})])
    assert (await store.state(ADA))["n"] == 2
    assert (await store.branch(ADA, "b2")).last_seq == 5
    assert await store.open_calls("app", "b2") == []
    assert (await store.branch(ADA, "b3", upto=0)).last_seq == 0
    await raises(UsageError, store.branch(ADA, "b1"))
    await raises(UsageError, store.branch(replace(ADA, session_id="none"), "b4"))


STORE_CHECKS: tuple[Callable[[Store], Awaitable[None]], ...] = (
    check_sessions_are_opened_once,
    check_other_users_are_kept_out,
    check_events_come_back_as_they_were,
    check_a_session_is_loaded_whole,
    check_only_events_that_follow_on_are_taken,
    check_of_many_runs_at_once_one_writes,
    check_state_goes_where_its_prefix_says,
    check_state_follows_the_events,
    check_calls_are_open_until_they_end,
    check_the_end_of_a_call_closes_what_it_asked,
    check_a_call_nobody_waits_for_outlives_its_result,
    check_the_first_answer_wins,
    check_of_many_answers_at_once_one_is_accepted,
    check_sessions_are_listed_latest_first,
    check_deleting_forgets_all_of_a_session,
    check_a_branch_is_the_session_up_to_a_point,
)
"""Each takes a fresh, empty store; its docstring says what it proves."""


async def _with(store: Store, scope: Scope, *events: Event) -> None:
    await store.open(scope)
    await store.append(scope, [replace(e, seq=seq) for seq, e in enumerate(events, start=1)])


async def _answer(store: Store, call_id: str, answer: Any, wanted: Answered) -> None:
    found = await store.answer("app", "s1", call_id, answer)
    assert found == wanted, f"answer to {call_id!r}: {found!r}, wanted {wanted!r}"


async def _open_ids(store: Store) -> list[str]:
    return sorted(call.pending.call_id for call in await store.open_calls("app", "s1"))


def _pending(call_id: str, payload: Any = None, deadline: float | None = None) -> Pending:
    return Pending(
        call_id=call_id, name="wipe", kind="confirmation", payload=payload, deadline=deadline
    )


def _ended(call_id: str, actions: Actions | None = None) -> ToolEnded:
    return ToolEnded(result=ToolResult(call_id=call_id, name="wipe", status="ok"), actions=actions)


def _conversation() -> list[Event]:
    """Events with what can be hard to store: bytes, odd characters, nested values."""
    odd = "".join(map(chr, (0x20AC, 0x1D11E, 0, 10, 0x2028)))
    call = ToolCall(call_id="c1", name="wipe", arguments='{"target": "stage"}', meta={"odd": odd})
    image = BlobPart(media_type="image/png", data=bytes(range(256)), name="x.png")
    result = ToolResult(call_id="c1", name="wipe", status="ok", content=(TextPart(odd), image))
    events: list[Event] = [
        RunStarted(message=UserMessage((TextPart("Wipe  staging,\nplease"),)), run_id="r1", at=1.5),
        ModelReplied(message=ModelMessage(parts=(TextPart("Yes"), call), meta={"id": [1, "x"]})),
        ToolStarted(call=call, path="outer"),
        ToolEnded(result=result, actions=Actions(artifact_delta={"x.png": 0}), elapsed=0.25),
        RunEnded(status="done", text="Done."),
    ]
    return [replace(event, seq=seq) for seq, event in enumerate(events, start=1)]
