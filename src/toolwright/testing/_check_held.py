"""What every store must do about runs that hold their sessions, as checks for its author."""

from collections.abc import Awaitable, Callable
from dataclasses import replace

import anyio

from toolwright.backends import Hold, Store
from toolwright.errors import SessionHeld, StoreConflict
from toolwright.messages import (
    Event,
    Given,
    Pending,
    PendingOpened,
    RunEnded,
    RunStarted,
    Scope,
    StateChanged,
)
from toolwright.testing._checks import raises

__all__ = ["HELD_CHECKS"]

ADA = Scope(app_name="app", user_id="ada", session_id="s1")


async def check_a_run_holds_its_session(store: Store) -> None:
    """From its first append to its last nobody else writes; who holds it is known."""
    mine, other = _hold("r1", since=12.5), _hold("r2")
    await store.open(ADA)
    assert await store.holder(ADA) is None
    await store.append(ADA, [RunStarted(seq=1)], replace(mine, first=True))
    holder = await store.holder(ADA)
    assert holder is not None
    assert (holder.hold_id, holder.since, holder.is_gone) == ("r1", 12.5, False)
    assert holder.process
    assert (await store.load(ADA)).holder == holder
    lost = StateChanged(seq=2, delta={"lost": True})
    await raises(SessionHeld, store.append(ADA, [lost], replace(other, first=True)))
    await raises(SessionHeld, store.append(ADA, [lost], other))
    await raises(SessionHeld, store.append(ADA, [lost]))
    await store.append(ADA, [StateChanged(seq=2, delta={"x": 1})], mine)
    await store.append(ADA, [RunEnded(seq=3, status="done")], replace(mine, last=True))
    assert await store.holder(ADA) is None
    assert await store.state(ADA) == {"x": 1}
    await store.append(ADA, [StateChanged(seq=4, delta={"x": 2})])
    await store.append(ADA, [RunStarted(seq=5)], replace(other, first=True))
    assert await _held_by(store) == "r2"


async def check_a_session_is_held_for_one_append_alone(store: Store) -> None:
    """A hold that is taken and released by the same append is over with it."""
    await store.open(ADA)
    both = replace(_hold("r1"), first=True, last=True)
    await store.append(ADA, [RunStarted(seq=1), RunEnded(seq=2, status="stopped")], both)
    assert await store.holder(ADA) is None
    await raises(StoreConflict, store.append(ADA, [StateChanged(seq=3, delta={})], _hold("r1")))
    assert len(await store.events(ADA)) == 2


async def check_of_many_runs_at_once_one_takes_the_session(store: Store) -> None:
    """The others are refused as long as it is held."""
    await store.open(ADA)
    took: list[str] = []

    async def take(name: str) -> None:
        start = RunStarted(seq=1, run_id=name)
        try:
            await store.append(ADA, [start], replace(_hold(name), first=True))
        except SessionHeld:
            return
        took.append(name)

    async with anyio.create_task_group() as tasks:
        for name in ("one", "two", "three", "four"):
            tasks.start_soon(take, name)
    assert len(took) == 1
    assert await _held_by(store) == took[0]


async def check_a_hold_can_be_taken_over(store: Store) -> None:
    """Who takes the place of another names it; what that one writes from then on is refused."""
    old, new = _hold("old"), _hold("new", since=3.5)
    await store.open(ADA)
    await store.append(ADA, [RunStarted(seq=1)])
    await store.append(ADA, [StateChanged(seq=2, delta={"x": 1})], replace(old, first=True))
    taking = replace(new, first=True, instead_of="another")
    started = RunStarted(seq=3, run_id="new")
    await raises(SessionHeld, store.append(ADA, [started], taking))
    await store.append(ADA, [started], replace(taking, instead_of="old"))
    assert await _held_by(store) == "new"
    late: list[Event] = [StateChanged(seq=3, delta={"x": 2}), StateChanged(seq=4, delta={"x": 2})]
    for event in late:
        await raises(SessionHeld, store.append(ADA, [event], old))
        await raises(SessionHeld, store.append(ADA, [event], replace(old, instead_of="new")))
    await store.append(ADA, [RunEnded(seq=4, status="done")], replace(new, last=True))
    await raises(StoreConflict, store.append(ADA, [StateChanged(seq=5, delta={"x": 3})], old))
    assert await store.state(ADA) == {"x": 1}
    assert len(await store.events(ADA)) == 4


async def check_a_hold_is_released_without_an_append(store: Store) -> None:
    """By the run that has it, and by no other."""
    await store.open(ADA)
    await store.append(ADA, [RunStarted(seq=1)], replace(_hold("r1"), first=True))
    await store.release(ADA, "r2")
    await store.release(replace(ADA, user_id="bob"), "r1")
    assert await _held_by(store) == "r1"
    await store.release(ADA, "r1")
    await store.release(ADA, "r1")
    assert await store.holder(ADA) is None
    await raises(StoreConflict, store.append(ADA, [RunStarted(seq=2)], _hold("r1")))


async def check_a_first_append_is_for_the_session_that_was_read(store: Store) -> None:
    """Not for another of its name, though that has as many events and nobody holds it."""
    born = (await store.open(ADA)).created_at
    read = [RunStarted(seq=1, run_id="r1"), RunEnded(seq=2, status="paused")]
    await store.append(ADA, read)
    late = replace(_hold("late"), first=True, born=born)
    await store.delete(ADA)
    await raises(StoreConflict, store.append(ADA, [RunStarted(seq=3)], late))
    again = (await store.open(ADA)).created_at
    now = [RunStarted(seq=1, run_id="r2"), RunEnded(seq=2, status="paused")]
    await store.append(ADA, now)
    for hold in (late, replace(late, last=True)):
        await raises(StoreConflict, store.append(ADA, [RunStarted(seq=3, run_id="late")], hold))
    assert (await store.holder(ADA), await store.events(ADA)) == (None, now)
    next_, mine = RunStarted(seq=3, run_id="r3"), replace(_hold("r3"), first=True, born=again)
    for _ in range(2):  # The acknowledgement of the first may have been lost.
        await store.append(ADA, [next_], mine)
    assert (await _held_by(store), await store.events(ADA)) == ("r3", [*now, next_])


async def check_a_repeated_append_holds_and_releases_once(store: Store) -> None:
    """Acknowledgements may be lost: the first, the last, and also when another run is there by then."""
    mine, started, ended = _hold("r1"), RunStarted(seq=1), RunEnded(seq=2, status="done")
    await store.open(ADA)
    await store.append(ADA, [started], replace(mine, first=True))
    await store.append(ADA, [started], replace(mine, first=True))
    assert await _held_by(store) == "r1"
    await store.append(ADA, [started, ended], replace(mine, first=True, last=True))
    assert await store.holder(ADA) is None
    await store.append(ADA, [ended], replace(mine, last=True))
    assert await store.holder(ADA) is None
    next_ = RunStarted(seq=3, run_id="r2")
    await store.append(ADA, [next_], replace(_hold("r2"), first=True))
    await store.append(ADA, [ended], replace(mine, last=True))
    assert await _held_by(store) == "r2"
    assert await store.events(ADA) == [started, ended, next_]


async def check_a_session_is_taken_without_an_append(store: Store) -> None:
    """As by a first append, from nobody or from who is gone; nothing is added, and no run begins."""
    mine = replace(_hold("d1", 12.5), first=True)
    await raises(StoreConflict, store.take(ADA, mine, 0.0))
    born = (await store.open(ADA)).created_at
    started = RunStarted(seq=1, run_id="r1")
    await store.append(ADA, [started], replace(_hold("r1"), first=True))
    await raises(SessionHeld, store.take(ADA, mine, born))
    await raises(StoreConflict, store.take(ADA, replace(mine, instead_of="r1"), born - 1))
    assert await _held_by(store) == "r1"
    before = await store.find("app", "s1")
    for _ in range(2):  # The acknowledgement of the first may have been lost.
        await store.take(ADA, replace(mine, instead_of="r1"), born)
        assert await _held_by(store) == "d1"
    assert (await store.events(ADA), await store.find("app", "s1")) == ([started], before)
    late = RunEnded(seq=2, status="done")
    await raises(SessionHeld, store.append(ADA, [late], _hold("r1")))
    await raises(SessionHeld, store.append(ADA, [late], replace(_hold("r2"), first=True)))
    await raises(StoreConflict, store.take(replace(ADA, user_id="bob"), mine, born))
    await store.release(ADA, "d1")
    assert await store.holder(ADA) is None


async def check_a_held_session_is_answered_and_branched(store: Store) -> None:
    """Others may do to it what is no run, but not delete it: its branch is free."""
    mine = _hold("r1")
    await store.open(ADA)
    asked = PendingOpened(seq=1, pending=Pending(call_id="c1", name="ask", kind="choice"))
    await store.append(ADA, [asked], replace(mine, first=True))
    assert await store.answer("app", "s1", "c1", Given(value="yes")) == "accepted"
    await store.branch(ADA, "s2")
    assert await store.holder(replace(ADA, session_id="s2")) is None
    await raises(SessionHeld, store.delete(ADA))
    assert await _held_by(store) == "r1"
    assert await store.events(ADA) == [asked]


async def check_a_session_that_is_being_deleted_is_left_alone(store: Store) -> None:
    """From `take` on it takes no run, no answer and no branch; released, it takes them all again."""
    mine, call = Hold.to_delete(), Pending(call_id="c1", name="ask", kind="choice")
    asked = PendingOpened(seq=1, pending=call)
    born = (await store.open(ADA)).created_at
    await store.append(ADA, [asked])
    await store.take(ADA, mine, born)
    holder = await store.holder(ADA)
    assert holder is not None
    assert holder.deletes
    late = RunStarted(seq=2, run_id="late")
    yes = Given(value="yes")
    await raises(SessionHeld, store.append(ADA, [late], replace(_hold("late"), first=True)))
    await raises(SessionHeld, store.answer("app", "s1", "c1", yes))
    await raises(SessionHeld, store.branch(ADA, "s2"))
    assert await store.find("app", "s2") is None
    assert await store.answer("app", "s1", "c1", None) == "unknown"
    [left] = await store.open_calls("app", "s1")
    assert not left.answered
    await store.release(ADA, mine.id)
    assert await store.answer("app", "s1", "c1", yes) == "accepted"
    await store.branch(ADA, "s2")
    await store.append(ADA, [late], replace(_hold("late"), first=True))


async def check_a_session_is_deleted_by_who_holds_it(store: Store) -> None:
    """Not by who held it, nor another of its name; the answers that nobody took are given back."""
    lost, mine, yes = Hold.to_delete(), Hold.to_delete(), Given(value="yes")
    born = (await store.open(ADA)).created_at
    asked = [
        PendingOpened(seq=n, pending=Pending(call_id=f"c{n}", name="ask", kind="choice"))
        for n in (1, 2)
    ]
    await store.append(ADA, asked)
    assert await store.answer("app", "s1", "c1", yes) == "accepted"
    await raises(StoreConflict, store.delete(ADA, mine))
    await store.take(ADA, lost, born)
    await store.take(ADA, replace(mine, instead_of=lost.id), born)
    await raises(StoreConflict, store.delete(ADA, lost))
    assert await store.events(ADA) == asked
    assert await store.delete(ADA, mine) == [yes]
    assert await store.delete(ADA, mine) == []  # The acknowledgement may have been lost.
    assert await store.find("app", "s1") is None
    again = await store.open(ADA)
    for hold in (lost, mine):
        await raises(StoreConflict, store.delete(ADA, hold))
    assert await store.find("app", "s1") == again


HELD_CHECKS: tuple[Callable[[Store], Awaitable[None]], ...] = (
    check_a_run_holds_its_session,
    check_a_session_is_held_for_one_append_alone,
    check_of_many_runs_at_once_one_takes_the_session,
    check_a_hold_can_be_taken_over,
    check_a_hold_is_released_without_an_append,
    check_a_first_append_is_for_the_session_that_was_read,
    check_a_repeated_append_holds_and_releases_once,
    check_a_session_is_taken_without_an_append,
    check_a_held_session_is_answered_and_branched,
    check_a_session_that_is_being_deleted_is_left_alone,
    check_a_session_is_deleted_by_who_holds_it,
)


def _hold(name: str, since: float = 0.0) -> Hold:
    return Hold(id=name, since=since)


async def _held_by(store: Store) -> str | None:
    holder = await store.holder(ADA)
    return None if holder is None else holder.hold_id
