"""Transactions of several processes in one Postgres, interleaved statement by statement."""

from collections.abc import Iterator
from dataclasses import replace

import anyio
import pytest
from sqlalchemy import func, select
from tests._interleaved import Together, hold_at, until_blocked
from tests._postgres import new_database

from toolwright.backends import Hold, SqlStore
from toolwright.backends.sql._schema import SESSIONS
from toolwright.errors import StoreError
from toolwright.messages import (
    Event,
    Given,
    Pending,
    PendingOpened,
    Reject,
    RunEnded,
    RunStarted,
    Scope,
    StateChanged,
    ToolEnded,
    ToolResult,
)

pytestmark = [pytest.mark.anyio, pytest.mark.postgres]
ADA = Scope(app_name="app", user_id="ada", session_id="s1")
OTHER = replace(ADA, session_id="s2")
ENDED = ToolEnded(seq=3, result=ToolResult(call_id="c1", name="ask", status="error"))


@pytest.fixture(scope="module")
def url() -> str:
    return new_database()


@pytest.fixture(scope="module")
def opened(url: str) -> Iterator[tuple[SqlStore, SqlStore]]:
    mine, theirs = SqlStore(url), SqlStore(url)
    yield mine, theirs
    anyio.run(mine.close)
    anyio.run(theirs.close)


@pytest.fixture
async def stores(opened: tuple[SqlStore, SqlStore]) -> tuple[SqlStore, SqlStore]:
    """Two processes' stores, and a session with a call that waits."""
    mine, _ = opened
    for scope in (ADA, OTHER):
        await mine.delete(scope)
        await mine.open(scope)
    waits = PendingOpened(seq=2, pending=Pending(call_id="c1", name="ask", kind="result"))
    await mine.append(ADA, [RunStarted(seq=1), waits])
    return opened


async def test_an_answer_waits_for_the_append_that_closes_its_call(
    url: str, stores: tuple[SqlStore, SqlStore]
) -> None:
    mine, theirs = stores
    async with anyio.create_task_group() as tasks:
        together = Together(tasks)
        with hold_at(mine.database, "SELECT toolwright_pending.body", after=True) as looked:
            end = together.start(lambda: mine.append(ADA, [ENDED]))
            await looked.reached()
            answer = together.start(lambda: theirs.answer("app", "s1", "c1", Given(value=1)))
            await until_blocked(url, answer)
        await end.result()
        assert await answer.result() == "finished"


async def test_an_append_waits_for_an_answer_and_keeps_it(
    url: str, stores: tuple[SqlStore, SqlStore]
) -> None:
    mine, theirs = stores
    async with anyio.create_task_group() as tasks:
        together = Together(tasks)
        with hold_at(theirs.database, "UPDATE toolwright_pending", after=True) as given:
            answer = together.start(lambda: theirs.answer("app", "s1", "c1", Given(value=1)))
            await given.reached()
            end = together.start(lambda: mine.append(ADA, [ENDED]))
            await until_blocked(url, end)
        assert await answer.result() == "accepted"
        await end.result()
    [call] = await mine.open_calls("app", "s1")
    assert (call.answer, call.pending.blocking) == (Given(value=1), False)


async def test_a_result_waits_for_the_answer_that_excludes_it(
    url: str, stores: tuple[SqlStore, SqlStore]
) -> None:
    mine, theirs = stores
    asks = PendingOpened(seq=3, pending=Pending(call_id="c1~2", name="ask", kind="confirmation"))
    await mine.append(ADA, [asks])
    async with anyio.create_task_group() as tasks:
        together = Together(tasks)
        with hold_at(theirs.database, "UPDATE toolwright_pending", after=True) as given:
            no = together.start(lambda: theirs.answer("app", "s1", "c1~2", Reject()))
            await given.reached()
            result = together.start(
                lambda: mine.answer("app", "s1", "c1", Given(value=1), [("s1", "c1~2")])
            )
            await until_blocked(url, result)
        assert await no.result() == "accepted"
        assert await result.result() == "duplicate"


async def test_answers_to_a_session_that_is_not_there_are_unknown(
    stores: tuple[SqlStore, SqlStore],
) -> None:
    assert await stores[0].answer("app", "nobody", "c1", Given(value=1)) == "unknown"
    assert await stores[0].answer("app", "s1", "nothing", Given(value=1)) == "unknown"


async def test_a_session_is_taken_as_it_is_when_nobody_writes_to_it(
    url: str, stores: tuple[SqlStore, SqlStore]
) -> None:
    mine, theirs = stores
    hold, born = Hold(id="theirs", since=1.0, first=True), (await mine.open(ADA)).created_at
    async with anyio.create_task_group() as tasks:
        together = Together(tasks)
        with hold_at(mine.database, "INSERT INTO toolwright_events") as advanced:
            end = together.start(lambda: mine.append(ADA, [RunEnded(seq=3, status="done")]))
            await advanced.reached()
            take = together.start(lambda: theirs.take(ADA, hold, born))
            await until_blocked(url, take)
        await end.result()
        await take.result()
    await theirs.release(ADA, "theirs")
    assert [row.scope for row in await mine.unfinished("app")] == []


async def test_who_takes_a_session_is_on_the_roll_before_it_locks_it(
    url: str, stores: tuple[SqlStore, SqlStore]
) -> None:
    mine, theirs = SqlStore(url), stores[1]  # One that has not signed in yet.
    hold, born = Hold.to_delete(), (await mine.open(ADA)).created_at
    with hold_at(mine.database, "INSERT INTO toolwright_workers") as signs_in:
        async with anyio.create_task_group() as tasks:
            together = Together(tasks)
            take = together.start(lambda: mine.take(ADA, hold, born))
            await signs_in.reached()
            append = together.start(lambda: theirs.append(ADA, [ENDED]))
            await until_blocked(url, append)
            assert append.done.is_set(), "an append, which locks in the other order, had to wait"
            signs_in.free()
            await take.result()
    await mine.release(ADA, hold.id)
    await mine.close()


async def test_a_session_is_loaded_as_it_was_at_one_moment(
    stores: tuple[SqlStore, SqlStore],
) -> None:
    mine, theirs = stores
    more: list[Event] = [StateChanged(seq=3, delta={"n": 1}), replace(ENDED, seq=4)]
    async with anyio.create_task_group() as tasks:
        together = Together(tasks)
        with hold_at(mine.database, "FROM toolwright_state", write=False, after=True) as read:
            load = together.start(lambda: mine.load(ADA))
            await read.reached()
            await theirs.append(ADA, more)
        found = await load.result()
    assert (found.row.last_seq, len(found.events), len(found.calls), found.state) == (2, 2, 1, {})


async def test_everything_that_is_read_at_once_is_of_one_moment(
    stores: tuple[SqlStore, SqlStore],
) -> None:
    mine, theirs = stores
    count = select(func.count()).select_from(SESSIONS)
    async with anyio.create_task_group() as tasks:
        together = Together(tasks)
        with hold_at(mine.database, "SELECT count(*)", write=False, after=True) as read:
            twice = together.start(
                lambda: mine.database.read(lambda c: [c.execute(count).scalar() for _ in "ab"])
            )
            await read.reached()
            await theirs.delete(OTHER)
        first, second = await twice.result()
    assert first == second


async def test_who_reads_cannot_write(stores: tuple[SqlStore, SqlStore]) -> None:
    with pytest.raises(StoreError, match="read-only"):
        await stores[0].database.read(lambda c: c.execute(SESSIONS.delete()))
    assert len(await stores[0].sessions("app")) == 2


async def test_a_session_that_is_deleted_while_it_is_opened_is_made_again(
    stores: tuple[SqlStore, SqlStore],
) -> None:
    mine, theirs = stores
    new = replace(ADA, session_id="new")
    async with anyio.create_task_group() as tasks:
        together = Together(tasks)
        with (
            hold_at(mine.database, "INSERT INTO toolwright_sessions") as absent,
            hold_at(mine.database, "INSERT INTO toolwright_sessions", after=True) as there,
        ):
            opening = together.start(lambda: mine.open(new))
            await absent.reached()
            await theirs.open(new)
            absent.free()
            await there.reached()
            await theirs.delete(new)
        assert (await opening.result()).scope == new
    await mine.delete(new)


async def test_a_session_that_is_deleted_while_it_is_loaded_is_made_again(
    stores: tuple[SqlStore, SqlStore],
) -> None:
    mine, theirs = stores
    new = replace(ADA, session_id="new")
    async with anyio.create_task_group() as tasks:
        together = Together(tasks)
        find = "FROM toolwright_sessions WHERE"
        with hold_at(mine.database, find, write=False, skip=2) as again:
            loading = together.start(lambda: mine.load(new))
            await again.reached()
            await theirs.delete(new)
        assert (await loading.result()).row.scope == new
    await mine.delete(new)


async def test_what_sessions_share_is_changed_by_one_at_a_time(
    url: str, stores: tuple[SqlStore, SqlStore]
) -> None:
    mine, theirs = stores
    plus_one = StateChanged(seq=3, delta={"app:n": 1})
    anew = StateChanged(seq=1, delta={"app:n": 100})
    async with anyio.create_task_group() as tasks:
        together = Together(tasks)
        with hold_at(mine.database, "FROM toolwright_state", after=True) as compared:
            change = together.start(lambda: mine.append(ADA, [plus_one], expected={"app:n": None}))
            await compared.reached()
            overwrite = together.start(lambda: theirs.append(OTHER, [anew]))
            await until_blocked(url, overwrite)
        await change.result()
        await overwrite.result()
    assert await mine.state(ADA) == {"app:n": 100}
    reset = StateChanged(seq=2, delta={"app:n": None})
    await mine.append(OTHER, [reset])
