"""One writer, many callers: a cancelled one takes back what is only queued, and harms nobody."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from toolwright.backends.sql._database import _Threads
from toolwright.backends.sql._group import GroupWriter

pytestmark = pytest.mark.anyio


class Held:
    """A database that commits when it is let go on."""

    def __init__(self) -> None:
        self.go_on = threading.Event()
        self.began = threading.Event()
        self.committed: list[str] = []
        self.synced: list[bool] = []

    def transact(self, work: Callable[[Any], Any], synced: bool = False) -> Any:
        self.synced.append(synced)
        self.began.set()
        assert self.go_on.wait(10)
        return work(self)

    def begin_nested(self) -> "Held":
        return self

    def __enter__(self) -> "Held":
        return self

    def __exit__(self, *error: object) -> None:
        return None


def job(held: Held, name: str) -> Callable[[Any], str]:
    def work(connection: Any) -> str:
        held.committed.append(name)
        return name

    return work


@pytest.mark.parametrize("times", [1, 2, 3])
async def test_a_queued_job_is_taken_back_and_one_under_way_is_finished(times: int) -> None:
    held = Held()
    writer = GroupWriter(held.transact)
    first = asyncio.create_task(writer.run(job(held, "first")))
    await asyncio.to_thread(held.began.wait, 10)
    queued = [asyncio.create_task(writer.run(job(held, name))) for name in ("second", "third")]
    await asyncio.sleep(0)
    for _ in range(times):
        queued[0].cancel()
        first.cancel()
        await asyncio.sleep(0)
    assert queued[0].done(), "it was only queued, so there is nothing to wait for"
    assert not first.done(), "it is under way: however often it is cancelled, it is waited for"
    held.go_on.set()
    results = await asyncio.gather(first, *queued, return_exceptions=True)
    assert isinstance(results[0], asyncio.CancelledError)
    assert isinstance(results[1], asyncio.CancelledError)
    assert results[2] == "third"
    assert held.committed == ["first", "third"]


@pytest.mark.parametrize("times", [1, 2, 3])
async def test_with_many_writers_too_only_what_no_thread_has_begun_is_taken_back(
    times: int,
) -> None:
    held, threads = Held(), _Threads(1)

    def write(name: str) -> asyncio.Task[str]:
        return asyncio.create_task(threads.run_whole(lambda: held.transact(job(held, name))))

    first = write("first")
    await asyncio.to_thread(held.began.wait, 10)
    queued = [write("second"), write("third")]
    await asyncio.sleep(0)
    for _ in range(times):
        queued[0].cancel()
        first.cancel()
        await asyncio.sleep(0)
    assert not first.done()
    held.go_on.set()
    results = await asyncio.gather(first, *queued, return_exceptions=True)
    assert isinstance(results[0], asyncio.CancelledError)
    assert isinstance(results[1], asyncio.CancelledError)
    assert results[2] == "third"
    assert held.committed == ["first", "third"]


async def test_the_thread_that_writes_ends_when_nothing_comes_and_starts_again() -> None:
    held = Held()
    held.go_on.set()
    writer = GroupWriter(held.transact)
    for name in ("a", "b"):
        assert await writer.run(job(held, name)) == name
        thread = next(t for t in threading.enumerate() if t.name == "toolwright writer")
        await asyncio.to_thread(thread.join, 10)
        assert not thread.is_alive()


async def test_a_transaction_is_synced_if_one_of_those_that_share_it_wants_that() -> None:
    held = Held()
    writer = GroupWriter(held.transact)
    first = asyncio.create_task(writer.run(job(held, "first")))
    await asyncio.to_thread(held.began.wait, 10)
    others = [writer.run(job(held, n), synced=n == "pays") for n in ("reads", "pays", "looks")]
    queued = [asyncio.create_task(other) for other in others]
    await asyncio.sleep(0)
    held.go_on.set()
    assert await asyncio.gather(first, *queued) == ["first", "reads", "pays", "looks"]
    assert await writer.run(job(held, "last"), synced=True) == "last"
    assert await writer.run(job(held, "least")) == "least"
    assert held.synced == [False, True, True, False]
