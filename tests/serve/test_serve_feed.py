"""Following a session: no gap, no repeat, whatever is stored when, and however slow the reader."""

from collections.abc import Callable
from contextlib import aclosing
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolwright.messages import (
    Event,
    ModelMessage,
    ModelReplied,
    TextDelta,
    TextPart,
    TurnStarted,
    encode_event,
)
from toolwright.serve.live import Feed, Replayed

pytestmark = pytest.mark.anyio


class Log:
    """A store that takes events when the test says so."""

    def __init__(self, page: int = 3) -> None:
        self.stored: list[Event] = []
        self.page = page
        self.reads = 0

    async def since(self, seq: int) -> list[Replayed]:
        self.reads += 1
        await anyio.lowlevel.checkpoint()
        found = [event for event in self.stored if event.seq > seq][: self.page]
        return [Replayed(encode_event(event), event.seq) for event in found]


def turn(seq: int) -> TurnStarted:
    return TurnStarted(seq=seq, turn=seq)


def replied(seq: int, text: str) -> ModelReplied:
    return ModelReplied(seq=seq, message=ModelMessage(parts=(TextPart(text),)))


async def take(feed: Feed, log: Log, count: int, since: int = 0) -> list[Any]:
    seen: list[Any] = []
    with anyio.fail_after(30):
        async with aclosing(feed.follow(log.since, since)) as batches:
            async for batch in batches:
                seen += [None] if batch is None else batch
                if len(seen) >= count:
                    break
    return seen


async def test_a_newcomer_in_mid_sentence_reads_the_sentence_so_far_as_one_piece() -> None:
    feed, log = Feed(), Log()
    feed.publish(turn(1))
    for word in ("Half ", "a ", "sentence"):
        feed.publish(TextDelta(text=word))
    seen = await take(feed, log, 2)
    assert [shown.whole for shown in seen] == [False, True]
    assert isinstance(seen[1].event, TextDelta)
    assert seen[1].event.text == "Half a sentence"


async def test_a_sentence_that_was_finished_is_not_shown_again_as_a_draft() -> None:
    feed, log = Feed(), Log()
    feed.publish(turn(1))
    feed.publish(TextDelta(text="Hello"))
    feed.publish(replied(2, "Hello"))
    seen = await take(feed, log, 2)
    assert [shown.event.seq for shown in seen] == [1, 2]


async def test_an_event_that_is_shown_but_not_yet_stored_reaches_a_newcomer_too() -> None:
    feed, log = Feed(), Log()
    log.stored.append(turn(1))
    feed.publish(turn(2))
    assert [shown.event.seq for shown in await take(feed, log, 2)] == [1, 2]


async def test_a_sentence_that_the_store_has_whole_is_not_shown_in_pieces_afterwards() -> None:
    feed, log = Feed(), Log()
    log.stored += [turn(1), replied(2, "Hello there")]
    feed.publish(turn(1))
    feed.publish(TextDelta(text="Hello "))
    async with aclosing(feed.follow(log.since)) as batches:
        with anyio.fail_after(30):
            first = await anext(batches) or ()
            feed.publish(TextDelta(text="there"))
            feed.publish(replied(2, "Hello there"))
            feed.publish(turn(3))
            second = await anext(batches) or ()
    assert [shown.event.seq for shown in first] == [1, 2]
    assert [shown.event.seq for shown in second] == [3]


async def test_a_follower_that_falls_far_behind_still_gets_every_stored_event() -> None:
    feed, log = Feed(), Log(page=500)
    seen: list[int] = []
    async with aclosing(feed.follow(log.since)) as batches:
        log.stored.append(turn(1))
        seen += [shown.event.seq for shown in await anext(batches) or ()]
        for number in range(2, 6000):
            log.stored.append(turn(number))
            feed.publish(turn(number))
        feed.settle()
        with anyio.fail_after(30):
            while seen[-1] < 5999:
                seen += [shown.event.seq for shown in await anext(batches) or ()]
    assert seen == list(range(1, 6000))


async def test_a_long_log_is_read_page_by_page_as_it_is_taken() -> None:
    feed, log = Feed(), Log(page=10)
    log.stored += [turn(number) for number in range(1, 101)]
    async with aclosing(feed.follow(log.since)) as batches:
        with anyio.fail_after(30):
            for page in range(1, 4):
                assert len(await anext(batches) or ()) == 10
                assert log.reads == page
    assert log.reads == 3


async def test_a_follower_that_leaves_is_forgotten() -> None:
    feed, log = Feed(), Log()
    log.stored.append(turn(1))
    await take(feed, log, 1)
    assert feed.listeners == 0


Change = Callable[[Feed, Log], None]


def other(seq: int) -> TurnStarted:
    return TurnStarted(seq=seq, turn=100 + seq)


def break_off(feed: Feed, log: Log) -> None:
    feed.reset()


def go_on_from_what_is_stored(feed: Feed, log: Log) -> None:
    feed.publish(other(3))


def store_less_than_was_shown(feed: Feed, log: Log) -> None:
    feed.note_stored(2)


def make_another(feed: Feed, log: Log) -> None:
    log.stored = [other(1), other(2)]
    feed.note_born(20.0)


def delete(feed: Feed, log: Log) -> None:
    log.stored = []
    feed.note_born(None)


@pytest.mark.parametrize(
    ("change", "after"),
    [
        (break_off, [1, 2]),
        (go_on_from_what_is_stored, [1, 2, 103]),
        (store_less_than_was_shown, [1, 2]),
        (make_another, [101, 102]),
        (delete, []),
    ],
)
async def test_what_was_shown_and_is_not_the_sessions_is_forgotten(
    change: Change, after: list[int]
) -> None:
    feed, log = Feed(), Log()
    feed.note_born(10.0)
    feed.note_born(10.0)
    log.stored += [turn(1), turn(2)]
    for number in (1, 2, 3):
        feed.publish(turn(number))
    feed.publish(TextDelta(text="Half"))
    async with aclosing(feed.follow(log.since)) as batches:
        with anyio.fail_after(30):
            assert [len(await anext(batches) or ()) for _ in range(2)] == [2, 2]
            change(feed, log)
            assert await anext(batches) is None
    seen = await take(feed, log, len(after)) if after else []
    assert [shown.event.turn for shown in seen] == after
    assert feed.fresh(3) is None or after[2:] == [103]


async def test_a_page_of_what_is_forgotten_is_not_shown() -> None:
    feed, log = Feed(), Log()
    log.stored += [turn(1), turn(2), turn(3), turn(4)]

    async def since(seq: int) -> list[Replayed]:
        found = await log.since(seq)
        if log.reads == 2:  # Deleted, and made anew, as the second page is on its way.
            log.stored = [other(1)]
            feed.reset()
        return found

    async with aclosing(feed.follow(since)) as batches:
        with anyio.fail_after(30):
            seen = [await anext(batches) for _ in range(3)]
    numbers = [batch and [getattr(shown.event, "turn", 0) for shown in batch] for batch in seen]
    assert numbers == [[1, 2, 3], None, [101]]


async def test_a_run_that_begins_and_ends_while_the_store_is_read_is_not_missed() -> None:
    feed, log = Feed(), Log()
    log.stored.append(turn(1))

    async def since(seq: int) -> list[Replayed]:
        found = await log.since(seq)
        if log.reads == 2:  # What was read is on its way.
            log.stored += [turn(2), turn(3)]
            for event in log.stored[1:]:
                feed.publish(event)
            feed.settle()
        return found

    async with aclosing(feed.follow(since)) as batches:
        with anyio.fail_after(30):
            first = await anext(batches) or ()
            second = await anext(batches) or ()
    assert [shown.event.seq for shown in (*first, *second)] == [1, 2, 3]


async def test_what_another_process_has_written_before_a_run_began_here_is_not_missed() -> None:
    feed, log = Feed(), Log()
    log.stored.append(turn(1))
    async with aclosing(feed.follow(log.since)) as batches:
        with anyio.fail_after(30):
            numbers = [shown.event.seq for shown in await anext(batches) or ()]
            log.stored += [turn(2), turn(3)]
            feed.publish(turn(4))
            feed.publish(turn(5))
            while numbers[-1] < 5:
                numbers += [shown.event.seq for shown in await anext(batches) or ()]
    assert numbers == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("written", [(2, 3), (2,), ()], ids=["all", "some", "none"])
async def test_whoever_waits_reads_what_was_written_elsewhere_before_what_follows_it(
    written: tuple[int, ...],
) -> None:
    """What is between and cannot be found is not waited for."""
    feed, log, numbers = Feed(), Log(), list[int]()
    log.stored.append(turn(1))

    async def read() -> None:
        async with aclosing(feed.follow(log.since)) as batches:
            async for batch in batches:
                numbers.extend(shown.event.seq for shown in batch or ())

    async with anyio.create_task_group() as group:
        group.start_soon(read)
        await anyio.wait_all_tasks_blocked()
        log.stored += [turn(number) for number in written]
        feed.publish(turn(4))
        feed.publish(turn(5))
        with anyio.fail_after(5):
            while numbers[-1] < 5:
                await anyio.lowlevel.checkpoint()
        group.cancel_scope.cancel()
    assert numbers == [1, *written, 4, 5]


async def test_a_session_that_goes_on_elsewhere_is_not_begun_anew() -> None:
    feed, log = Feed(), Log()
    feed.publish(turn(1))
    log.stored.append(turn(1))
    feed.settle()
    async with aclosing(feed.follow(log.since)) as batches:
        with anyio.fail_after(30):
            numbers = [shown.event.seq for shown in await anext(batches) or ()]
            for last in (1, 1, 2):
                log.stored += [turn(2)] if last == 2 else []
                feed.note_stored(last)
            feed.note_born(10.0)
            numbers += [shown.event.seq for shown in await anext(batches) or ()]
    assert numbers == [1, 2]


@settings(max_examples=60, deadline=None)
@given(
    flushes=st.lists(st.booleans(), min_size=1, max_size=30),
    joins=st.lists(st.integers(0, 29), min_size=1, max_size=4),
)
def test_whenever_events_are_stored_and_whenever_one_joins_each_is_seen_once_in_order(
    flushes: list[bool], joins: list[int]
) -> None:
    async def story() -> None:
        feed, log = Feed(), Log()
        waiting: list[Event] = []
        seen: dict[int, list[int]] = {}

        async def listen(name: int) -> None:
            seen[name] = [s.event.seq for s in await take(feed, log, len(flushes))]

        async with anyio.create_task_group() as group:
            for number, flush in enumerate(flushes, 1):
                for name, at in enumerate(joins):
                    if at % len(flushes) == number - 1:
                        group.start_soon(listen, name)
                await anyio.lowlevel.checkpoint()
                feed.publish(turn(number))
                waiting.append(turn(number))
                if flush:
                    log.stored += waiting
                    waiting.clear()
            log.stored += waiting
            feed.settle()
        assert all(numbers == list(range(1, len(flushes) + 1)) for numbers in seen.values())

    anyio.run(story)
