"""What every store must do, as checks that its author can run."""

import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import anyio
import anyio.lowlevel

from toolwright.backends import Hold, Store
from toolwright.errors import StoreConflict, StoreError, UsageError
from toolwright.messages import (
    Actions,
    Answered,
    Approve,
    BlobPart,
    Event,
    Given,
    ModelMessage,
    ModelReplied,
    Pending,
    PendingAnswered,
    PendingChanged,
    PendingOpened,
    Reject,
    RunEnded,
    RunStarted,
    Scope,
    SignedIn,
    StateChanged,
    StoredAnswer,
    TextPart,
    ToolCall,
    ToolEnded,
    ToolResult,
    ToolStarted,
    UserMessage,
    call_key,
    decode_event,
)
from toolwright.testing._check_held import HELD_CHECKS
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
    assert await store.encoded_events(stranger) == []
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
    pages = [await store.encoded_events(ADA, since, limit=2) for since in range(len(events) + 1)]
    for since, page in enumerate(pages):
        assert [(one.seq, decode_event(one.text)) for one in page] == [
            (event.seq, event) for event in events[since:][: len(page)]
        ]
        assert 1 <= len(page) <= 2 or (not page and since == len(events))
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
    assert [(c.pending.call_id, c.answer) for c in found.calls] == [("c1", Given(value="yes"))]
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


async def check_a_repeated_append_adds_nothing_twice(store: Store) -> None:
    """Whoever lost the acknowledgement may append again, and add what has come since."""
    first, second = RunStarted(seq=1, run_id="r1"), StateChanged(seq=2, delta={"x": 1})
    await store.open(ADA)
    await store.append(ADA, [first])
    await store.append(ADA, [first])
    await store.append(ADA, [first, second])
    await store.append(ADA, [first, second])
    assert await store.events(ADA) == [first, second]
    assert await store.state(ADA) == {"x": 1}
    other = RunStarted(seq=1, run_id="r2")
    await raises(StoreConflict, store.append(ADA, [other]))
    await raises(StoreConflict, store.append(ADA, [other, second]))
    await raises(StoreConflict, store.append(ADA, [replace(second, delta={"x": 2})]))
    assert await store.events(ADA) == [first, second]


async def check_a_cancelled_caller_harms_nobody(store: Store) -> None:
    """Of callers at the same time one is cancelled, sooner or later: the others are told the truth."""
    moments = [(delay, patience) for delay in range(4) for patience in range(8)]
    for delay, patience in moments:
        await _one_is_cancelled(store, f"{delay} {patience}", delay, patience)


async def _one_is_cancelled(store: Store, round_: str, delay: int, patience: int) -> None:
    done: list[Scope] = []
    scopes = [replace(ADA, session_id=f"{round_} {number}") for number in range(4)]
    for scope in scopes:
        await store.open(scope)

    async def write(scope: Scope, turns: int) -> None:
        for _ in range(turns):
            await anyio.lowlevel.checkpoint()
        await store.append(scope, [StateChanged(delta={"x": scope.session_id}, seq=1)])
        done.append(scope)

    async def write_impatiently() -> None:
        async with anyio.create_task_group() as hasty:
            hasty.start_soon(write, scopes[0], 0)
            for _ in range(patience):
                await anyio.lowlevel.checkpoint()
            hasty.cancel_scope.cancel()

    async with anyio.create_task_group() as group:
        group.start_soon(write_impatiently)
        for scope in scopes[1:]:
            group.start_soon(write, scope, delay)
    assert set(scopes[1:]) <= set(done)
    for scope in done:
        found = await store.state(scope)
        assert found == {"x": scope.session_id}, f"told that it is stored; found {found!r}"


async def check_any_string_comes_back(store: Store) -> None:
    """Strings that databases and UTF-8 refuse are stored and read back as they were."""
    odd = "a\x00b\x1ac\ud800d\udfffe\x1a0041"
    scope = Scope(app_name=odd, user_id=odd, session_id=odd)
    events = [
        RunStarted(message=UserMessage((TextPart(odd),)), seq=1),
        ToolStarted(call=ToolCall(call_id=odd, name=odd, arguments=odd, meta={odd: [odd]}), seq=2),
        StateChanged(delta={odd: {odd: odd}}, seq=3),
        PendingOpened(pending=_pending(odd, {odd: odd}), seq=4),
        RunEnded(status="paused", text=odd, reason=odd, seq=5),
    ]
    await store.open(scope)
    await store.append(scope, events)
    assert await store.events(scope) == events
    assert await store.state(scope) == {odd: {odd: odd}}
    [call] = await store.open_calls(odd, odd)
    assert (call.scope, call.pending) == (scope, _pending(odd, {odd: odd}))
    assert await store.answer(odd, odd, odd, Given(value=odd)) == "accepted"
    [call] = await store.open_calls(odd)
    assert call.answer == Given(value=odd)
    assert [row.scope for row in await store.sessions(odd, odd)] == [scope]


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


async def check_only_exact_prefixes_count(store: Store) -> None:
    """`User:` and `APP:` are words of the session, and go with it; so does nothing of the others."""
    own = {"User:a": 1, "APP:a": 1, "uSer:a": 1, "user_": 1, "app%": 1, "userX:": 1}
    await _with(store, ADA, StateChanged(delta={**own, "user:u": 2, "app:a": 3}))
    await store.delete(ADA)
    await store.open(ADA)
    assert await store.state(ADA) == {"user:u": 2, "app:a": 3}


async def check_state_of_a_user_is_no_other_user_s(store: Store) -> None:
    """Whatever their ids are: one that is empty, too."""
    ids = ("", " ", "%", "ada", "Ada", "app:", "s2")
    for number, user in enumerate(ids):
        scope = Scope(app_name="app", user_id=user, session_id=f"s{number}")
        await _with(store, scope, StateChanged(delta={f"user:{number}": 1, f"own{number}": 1}))
    for number, user in enumerate(ids):
        scope = Scope(app_name="app", user_id=user, session_id=f"s{number}")
        assert await store.state(scope) == {f"user:{number}": 1, f"own{number}": 1}, user


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
    assert (call.scope, call.pending, call.answer) == (ADA, asked, None)
    assert len(await store.open_calls("app")) == 2
    assert await store.open_calls("other") == []
    approval = Approve(arguments={"x": [1, None]}, payload={"kind": "reject"}, remember=True)
    assert await store.answer("app", "s1", "c1", approval) == "accepted"
    [call] = await store.open_calls("app", "s1")
    assert (call.answered, call.answer) == (True, approval)
    await store.append(ADA, [PendingAnswered(seq=2, call_id="c1", answer=approval)])
    assert len(await store.open_calls("app", "s1")) == 1
    await store.append(ADA, [replace(_ended("c1"), seq=3)])
    assert await store.open_calls("app", "s1") == []


async def check_calls_are_listed_in_the_order_they_were_asked_about(store: Store) -> None:
    """Whatever their ids are, and in however many appends."""
    await _with(store, ADA, *(PendingOpened(pending=_pending(i)) for i in ("z", "a", "m")))
    await store.append(ADA, [PendingOpened(seq=4, pending=_pending("b"))])
    found = await store.open_calls("app", "s1")
    assert [call.pending.call_id for call in found] == ["z", "a", "m", "b"]


async def check_the_end_of_a_call_closes_what_it_asked(store: Store) -> None:
    """Repeated and nested questions of a call are closed with it, those of others are not."""
    ids = ["c1", "c1~2", "c1/in", "c10", "c2/c1"]
    await _with(store, ADA, *(PendingOpened(pending=_pending(i)) for i in ids))
    await store.append(ADA, [replace(_ended("c1"), seq=6)])
    assert await _open_ids(store) == ["c10", "c2/c1"]
    await store.append(ADA, [replace(_ended("c1"), seq=7, path="c2")])
    assert await _open_ids(store) == ["c10"]


async def check_an_answer_is_what_it_was_sent_as(store: Store) -> None:
    """A result that looks like an approval, or like any other answer, is a result."""
    image = BlobPart(media_type="image/png", data=bytes(range(256)))
    answers: list[StoredAnswer] = [
        Given(value={"kind": "approve", "amount": 3}),
        Given(value={"kind": "given", "value": None}),
        Given(value=None),
        Given(
            value="shown", content=(TextPart("shown"), image), data={"rows": [1]}, status="error"
        ),
        Reject(reason="no"),
        SignedIn(key="answer:1"),
    ]
    opened = [PendingOpened(pending=_pending(f"c{number}")) for number in range(len(answers))]
    await _with(store, ADA, *opened)
    for number, answer in enumerate(answers):
        assert await store.answer("app", "s1", f"c{number}", answer) == "accepted"
    found = {c.pending.call_id: c.answer for c in await store.open_calls("app", "s1")}
    assert found == {f"c{number}": answer for number, answer in enumerate(answers)}
    used = [PendingAnswered(call_id=f"c{n}", answer=a) for n, a in enumerate(answers)]
    numbered = [replace(event, seq=seq) for seq, event in enumerate(used, start=len(answers) + 1)]
    await store.append(ADA, numbered)
    assert await store.events(ADA, since=len(answers)) == numbered


async def check_a_waiting_call_can_be_let_go(store: Store) -> None:
    """A call that the run no longer waits for stays open when it has a result."""
    waits = _pending("c1")
    await _with(store, ADA, PendingOpened(pending=waits))
    later = replace(waits, blocking=False, hint="still running")
    await store.append(ADA, [PendingChanged(seq=2, pending=later), replace(_ended("c1"), seq=3)])
    [call] = await store.open_calls("app", "s1")
    assert call.pending == later
    await _answer(store, "c1", "done", "accepted")
    branch = await store.branch(ADA, "s2")
    [copied] = await store.open_calls("app", "s2")
    assert (branch.last_seq, copied.pending, copied.answer) == (3, later, None)


async def check_a_waiting_call_has_the_deadline_that_it_was_given_last(store: Store) -> None:
    """A call whose time begins anew takes an answer after the time that it had at first, and only then
    is it too late."""
    waits = replace(_pending("c1"), deadline=1.0)
    await _with(store, ADA, PendingOpened(pending=waits), PendingOpened(pending=_pending("c2")))
    longer, over = replace(waits, deadline=None), replace(_pending("c2"), deadline=1.0)
    changed = [PendingChanged(seq=3, pending=longer), PendingChanged(seq=4, pending=over)]
    await store.append(ADA, changed)
    await _answer(store, "c1", "here", "accepted")
    await _answer(store, "c2", "here", "expired")


async def check_an_accepted_answer_is_not_lost_with_its_call(store: Store) -> None:
    """A call that ends just as its answer is accepted stays open until the log has the answer."""
    waits = _pending("c1")
    await _with(store, ADA, PendingOpened(pending=waits))
    await _answer(store, "c1", "came", "accepted")
    await store.append(ADA, [replace(_ended("c1"), seq=2)])
    [call] = await store.open_calls("app", "s1")
    assert (call.pending, call.answer) == (replace(waits, blocking=False), Given(value="came"))
    used = PendingAnswered(seq=3, call_id="c1", answer=Given(value="came"))
    await store.append(ADA, [used])
    assert await store.open_calls("app", "s1") == []
    await _answer(store, "c1", "again", "duplicate")


async def check_a_call_nobody_waits_for_outlives_its_result(store: Store) -> None:
    """A call that does not block has a result at once; it is closed when its answer is used."""
    later = replace(_pending("c1"), blocking=False)
    await _with(store, ADA, PendingOpened(pending=later), _ended("c1"))
    assert await _open_ids(store) == ["c1"]
    await _answer(store, "c1", "done", "accepted")
    await store.append(ADA, [PendingAnswered(seq=3, call_id="c1", answer=Given(value="done"))])
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
    assert await store.answer("app", "s9", "c1", Given(value=1)) == "unknown"
    calls = {c.pending.call_id: c.answer for c in await store.open_calls("app", "s1")}
    assert calls == {"c1": Given(value=None), "late": None}
    await store.append(ADA, [replace(_ended("c1"), seq=5)])
    await _answer(store, "c1", 3, "duplicate")


async def check_of_many_answers_at_once_one_is_accepted(store: Store) -> None:
    """Twenty answers race; one is accepted, and it is the one that is kept."""
    await _with(store, ADA, PendingOpened(pending=_pending("c1")))
    outcomes: dict[int, Answered] = {}

    async def answer(number: int) -> None:
        outcomes[number] = await store.answer("app", "s1", "c1", Given(value=number))

    async with anyio.create_task_group() as tasks:
        for number in range(20):
            tasks.start_soon(answer, number)
    accepted = [number for number, outcome in outcomes.items() if outcome == "accepted"]
    assert len(accepted) == 1
    assert list(outcomes.values()).count("duplicate") == 19
    [call] = await store.open_calls("app", "s1")
    assert call.answer == Given(value=accepted[0])


async def check_of_answers_that_exclude_each_other_one_is_accepted(store: Store) -> None:
    """Calls in several sessions race, each unless another has its answer; one is accepted."""
    scopes = [replace(ADA, session_id=f"s{number}") for number in range(8)]
    for scope in scopes:
        await _with(store, scope, PendingOpened(pending=_pending("c1")))
    outcomes: dict[str, Answered] = {}

    async def answer(mine: str) -> None:
        others = [(s.session_id, "c1") for s in scopes if s.session_id != mine]
        outcomes[mine] = await store.answer("app", mine, "c1", Given(value=mine), others)

    async with anyio.create_task_group() as tasks:
        for scope in scopes:
            tasks.start_soon(answer, scope.session_id)
    assert sorted(outcomes.values()) == ["accepted", *["duplicate"] * 7], outcomes
    [taken] = [call for call in await store.open_calls("app") if call.answered]
    assert outcomes[taken.scope.session_id] == "accepted"
    missing = [("s0", "c9"), ("nobody", "c1")]
    left = next(s.session_id for s in scopes if outcomes[s.session_id] == "duplicate")
    assert await store.answer("app", left, "c1", Given(), missing) == "accepted"


async def check_an_answer_may_yield_to_another_of_its_session(store: Store) -> None:
    """Whether that one is given first is all that counts; it may know nothing of the other."""
    opened = [PendingOpened(pending=_pending(call)) for call in ("c1", "c1~2", "c2", "c2~2")]
    await _with(store, ADA, *opened)
    await _answer(store, "c1~2", 1, "accepted")
    assert await store.answer("app", "s1", "c1", Given(), [("s1", "c1~2")]) == "duplicate"
    assert await store.answer("app", "s1", "c2", Given(), [("s1", "c2~2")]) == "accepted"
    await _answer(store, "c1", 1, "accepted")


async def check_an_answer_is_for_the_session_that_was_looked_at(store: Store) -> None:
    """A call of the same id, in a session that was made anew under the same name, is another one."""
    await _with(store, ADA, PendingOpened(pending=_pending("c1")))
    [old] = await store.open_calls("app", "s1")
    assert old.born == (await store.open(ADA)).created_at
    await store.delete(ADA)
    await anyio.sleep(0.002)  # Some clocks tick slowly.
    await _with(
        store, ADA, PendingOpened(pending=_pending("c1")), PendingOpened(pending=_pending("c2"))
    )
    [new, _] = await store.open_calls("app", "s1")
    assert new.born != old.born
    yes = Given(value=1)
    assert await store.answer("app", "s1", "c1", yes, born=old.born) == "unknown"
    assert await store.open_calls("app", "s1") == [new, _]
    assert await store.answer("app", "s1", "c1", yes, born=new.born) == "accepted"
    for born, found in ((old.born, "unknown"), (new.born, "duplicate"), (None, "duplicate")):
        assert await store.answer("app", "s1", "c1", yes, born=born) == found
        assert await store.answer("app", "s1", "c1", None, born=born) == found
    assert await store.answer("app", "s1", "c2", yes) == "accepted"


async def check_without_an_answer_nothing_is_taken(store: Store) -> None:
    """What became of a call can be asked without answering it."""
    past = _pending("late", deadline=time.time() - 1)
    opened = [PendingOpened(pending=p) for p in (_pending("c1"), past, _pending("c3"))]
    await _with(store, ADA, *opened, _ended("c3"))
    asked = {c: await store.answer("app", "s1", c, None) for c in ("c1", "late", "c3", "c9")}
    assert asked == {"c1": "unknown", "late": "expired", "c3": "finished", "c9": "unknown"}
    await _answer(store, "c1", 1, "accepted")
    assert await store.answer("app", "s1", "c1", None) == "duplicate"


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


async def check_what_a_run_should_go_on_with_is_found(store: Store) -> None:
    """Sessions whose log does not end with the end of a run, or whose answers wait for one."""

    async def unfinished() -> list[str]:
        return [row.scope.session_id for row in await store.unfinished("app")]

    names = ("cut-off", "paused", "done", "inner")
    for name in (*names, "new"):
        await store.open(Scope(app_name="app", user_id="ada", session_id=name))
    ends = {name: Scope(app_name="app", user_id="ada", session_id=name) for name in names}
    for scope in ends.values():
        await store.append(scope, [RunStarted(seq=1, at=1.0)])
    await store.append(ends["done"], [RunEnded(seq=2, at=1.0, status="done")])
    await store.append(ends["inner"], [RunEnded(seq=2, at=1.0, path="call", status="done")])
    asked = [Pending(call_id=call, name="ask", kind="choice") for call in ("a", "b")]
    later = Pending(call_id="c", name="ask", kind="result", blocking=False)
    opened = [PendingOpened(seq=n, at=1.0, pending=p) for n, p in enumerate((*asked, later), 2)]
    await store.append(ends["paused"], [*opened, RunEnded(seq=5, at=1.0, status="paused")])
    assert await unfinished() == ["inner", "cut-off"]
    assert await store.unfinished("other") == []
    for call, found in (("c", False), ("a", False), ("b", True)):
        assert ("paused" in await unfinished()) is False
        assert await store.answer("app", "paused", call, Given(value=call)) == "accepted"
        assert ("paused" in await unfinished()) is found
    hold = Hold(id="h", since=0.0, first=True)
    for name in ("cut-off", "done"):
        row = await store.find("app", name)
        assert row is not None
        await store.take(row.scope, hold, row.created_at)
    await store.release(ends["cut-off"], "h")
    await store.release(ends["done"], "h")
    assert set(await unfinished()) == {"inner", "cut-off", "paused"}
    taken = [PendingAnswered(seq=5 + n, at=1.0, call_id=c) for n, c in enumerate("abc", 1)]
    await store.append(ends["paused"], [*taken, RunEnded(seq=9, at=1.0, status="done")])
    await store.append(ends["cut-off"], [RunEnded(seq=2, at=1.0, status="stopped")])
    assert await unfinished() == ["inner"]
    await store.branch(ends["done"], "branch", 1)
    assert set(await unfinished()) == {"inner", "branch"}


async def check_a_session_where_a_deadline_has_passed_is_found(store: Store) -> None:
    """Unless a call that blocks is still waited for; and only until the log has its end."""
    past, later = time.time() - 1, time.time() + 3600
    late = _asked("a", past, blocking=False)
    calls = {
        "late": [late],
        "blocking": [_asked("a", past), _asked("b", later, blocking=False)],
        "in-time": [_asked("a", later), _asked("b", later, blocking=False)],
        "blocked": [late, _asked("b", None)],
    }
    for name, asked in calls.items():
        scope = Scope(app_name="app", user_id="ada", session_id=name)
        events = [PendingOpened(pending=pending) for pending in asked]
        await _with(store, scope, RunStarted(), *events, RunEnded(status="paused"))
    found = await store.unfinished("app")
    assert {row.scope.session_id for row in found} == {"late", "blocking"}
    told = PendingAnswered(seq=4, call_id="a", answer=Reject(reason="too late"))
    scope = Scope(app_name="app", user_id="ada", session_id="late")
    await store.append(scope, [told, RunEnded(seq=5, status="done")])
    assert [row.scope.session_id for row in await store.unfinished("app")] == ["blocking"]


def _asked(call_id: str, deadline: float | None, *, blocking: bool = True) -> Pending:
    return Pending(call_id=call_id, name="ask", kind="result", deadline=deadline, blocking=blocking)


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


async def check_a_branch_has_the_answers_of_its_log(store: Store) -> None:
    """A call is answered there when the log says so, but an approval that has led to no result yet
    is left out: where it was the latest, its call asks again."""
    ids = ("result", "no", "yes", "twice", "twice~2", "done", "outer/in")
    yes = Approve()
    given = {"result": Given(value=1), "no": Reject(), "yes": yes, "twice": yes, "done": yes}
    await _with(
        store,
        ADA,
        *(PendingOpened(pending=_pending(call_id)) for call_id in ids),
        *(PendingAnswered(call_id=c, answer=answer) for c, answer in given.items()),
        PendingAnswered(call_id="outer/in", answer=yes),
        _ended("done"),
        _ended("outer"),
    )
    row = await store.branch(ADA, "b1")
    branch = replace(ADA, session_id="b1")
    found = {c.pending.call_id: (c.answered, c.answer) for c in await store.open_calls("app", "b1")}
    answered, waits = (True, None), (False, None)
    latest = {"yes": waits, "twice~2": waits}
    assert found == {"result": answered, "no": answered, "twice": answered, **latest}
    events = await store.events(branch)
    assert [event.seq for event in events] == list(range(1, row.last_seq + 1))
    left = {e.call_id: e.answer for e in events if isinstance(e, PendingAnswered)}
    assert left == {"result": Given(value=1), "no": Reject(), "done": yes, "outer/in": yes}
    assert await store.answer("app", "b1", "result", Given(value=2)) == "duplicate"
    assert await store.answer("app", "b1", "twice", Reject()) == "duplicate"
    assert await store.answer("app", "b1", "yes", Reject()) == "accepted"
    assert await store.answer("app", "b1", "done", Reject()) == "duplicate"


async def check_a_call_that_has_begun_keeps_its_key_in_branches(store: Store) -> None:
    """While it has no result: a branch of a branch has it from where the call began."""
    begun = [ToolStarted(call=ToolCall(call_id=c, name="pay")) for c in ("c1", "c2")]
    await _with(store, ADA, *begun, ToolStarted(call=begun[0].call, path="outer"), _ended("c2"))
    born = (await store.open(ADA)).created_at
    await store.branch(ADA, "b1")
    await store.branch(replace(ADA, session_id="b1"), "b2")
    for branch in ("b1", "b2"):
        events = await store.events(replace(ADA, session_id=branch))
        keys = [event.key for event in events if isinstance(event, ToolStarted)]
        assert keys == [call_key(ADA, born, "c1"), "", call_key(ADA, born, "outer/c1")]


STORE_CHECKS: tuple[Callable[[Store], Awaitable[None]], ...] = (
    check_sessions_are_opened_once,
    check_other_users_are_kept_out,
    check_events_come_back_as_they_were,
    check_a_session_is_loaded_whole,
    check_only_events_that_follow_on_are_taken,
    check_of_many_runs_at_once_one_writes,
    check_a_repeated_append_adds_nothing_twice,
    check_a_cancelled_caller_harms_nobody,
    check_any_string_comes_back,
    check_state_goes_where_its_prefix_says,
    check_only_exact_prefixes_count,
    check_state_of_a_user_is_no_other_user_s,
    check_state_follows_the_events,
    check_calls_are_open_until_they_end,
    check_calls_are_listed_in_the_order_they_were_asked_about,
    check_the_end_of_a_call_closes_what_it_asked,
    check_an_answer_is_what_it_was_sent_as,
    check_a_waiting_call_can_be_let_go,
    check_a_waiting_call_has_the_deadline_that_it_was_given_last,
    check_an_accepted_answer_is_not_lost_with_its_call,
    check_a_call_nobody_waits_for_outlives_its_result,
    check_the_first_answer_wins,
    check_of_many_answers_at_once_one_is_accepted,
    check_of_answers_that_exclude_each_other_one_is_accepted,
    check_an_answer_may_yield_to_another_of_its_session,
    check_an_answer_is_for_the_session_that_was_looked_at,
    check_without_an_answer_nothing_is_taken,
    check_sessions_are_listed_latest_first,
    check_what_a_run_should_go_on_with_is_found,
    check_a_session_where_a_deadline_has_passed_is_found,
    check_deleting_forgets_all_of_a_session,
    check_a_branch_is_the_session_up_to_a_point,
    check_a_branch_has_the_answers_of_its_log,
    check_a_call_that_has_begun_keeps_its_key_in_branches,
    *HELD_CHECKS,
)
"""Each takes a fresh, empty store; its docstring says what it proves."""


async def _with(store: Store, scope: Scope, *events: Event) -> None:
    await store.open(scope)
    await store.append(scope, [replace(e, seq=seq) for seq, e in enumerate(events, start=1)])


async def _answer(store: Store, call_id: str, answer: Any, wanted: Answered) -> None:
    found = await store.answer("app", "s1", call_id, Given(value=answer))
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
