"""The seam between the journal, which is the truth, and what decides when and where a task's next segment
runs."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import anyio

from toolwright.tasks._queue import Queue
from toolwright.tasks._registered import Registered

__all__ = ["Codec", "Engine", "EngineAddress", "LineEngine", "Offer", "SegmentRunner", "Take"]

Offer = Literal["exact order", "several queues"]
"""Tasks start exactly as they stand in line; one worker takes from several queues, in their order."""
Take = Callable[[], Awaitable[bool]]


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentRunner:
    """What a worker lends its engine. A segment is run until its task has ended or waits."""

    agents: Mapping[str, Registered]
    queues: Sequence[str]
    take_next: Take
    """Begin what is next in the lines of the database; False when there is nothing, or no room."""
    run_segment: Callable[[str, str, str], Awaitable[bool]]
    """Run the next segment of one task, of an agent and a queue, and return when it is over; False when
    the task may not be taken up now. It goes on when whoever waits for it is cancelled."""
    look: Callable[[], None]
    """Have the worker look again whether there is something to take."""
    draining: anyio.Event


class Engine(Protocol):
    """Decides when and where the next segment of a task runs, and knows nothing else of tasks."""

    offers: Collection[Offer]
    """What it does beyond that."""

    async def wake(self, task_ids: Collection[str]) -> None:
        """These tasks are new, or something was stored for them. Never fails; it may be lost, so workers
        find by themselves what could go on."""
        ...

    def feed(self, runner: SegmentRunner) -> AbstractAsyncContextManager[Take]:
        """Have a worker run segments. What it calls whenever it has room; True when that began some."""
        ...

    async def close(self) -> None:
        """Close what was opened."""
        ...


class EngineAddress(Protocol):
    """The address of an engine that stores no tasks itself."""

    @property
    def store(self) -> str:
        """The address of the database that does."""
        ...

    def open_engine(self, queue: Queue, lease: float, codec: "Codec | None") -> Engine:
        """Connect on first use."""
        ...


class LineEngine:
    """The lines in the database: workers take what is next, and rings only save time."""

    offers: Collection[Offer] = ("exact order", "several queues")

    def __init__(self, ring: Callable[[str], None]) -> None:
        self._ring = ring

    async def wake(self, task_ids: Collection[str]) -> None:
        """Have workers look at their lines, in which these are."""
        self._ring("work")

    @asynccontextmanager
    async def feed(self, runner: SegmentRunner) -> Any:
        """Take what is next."""
        yield runner.take_next

    async def close(self) -> None:
        """Nothing was opened."""


class Codec(Protocol):
    """Encrypts what an engine stores elsewhere; one of Temporal's `PayloadCodec`s is one."""

    async def encode(self, payloads: Sequence[Any]) -> list[Any]:
        """Payloads as they are stored."""
        ...

    async def decode(self, payloads: Sequence[Any]) -> list[Any]:
        """Payloads as they were."""
        ...
