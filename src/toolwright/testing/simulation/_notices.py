"""Notifications and heartbeats of durable tasks inside a simulation: no sockets, no threads."""

import asyncio
import contextvars
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from toolwright.errors import StoreError
from toolwright.tasks._bell import Ear
from toolwright.testing.simulation._process import World, current_process

__all__ = ["Exchange", "SimulatedHeartbeat"]


class Exchange:
    """Carries notifications between processes; each takes a while, and some are lost."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._bells: dict[str, list[SimulatedBell]] = {}

    def open_bell(self, url: str, *kinds: str) -> "SimulatedBell":
        """In place of the bell that belongs to a database."""
        return SimulatedBell(self, url, kinds)

    def join(self, bell: "SimulatedBell") -> None:
        """Let it hear what is rung at its address."""
        self._bells.setdefault(bell.url, []).append(bell)

    def leave(self, bell: "SimulatedBell") -> None:
        """Let it hear no more."""
        self._bells[bell.url].remove(bell)

    def ring(self, url: str, topic: str) -> None:
        """Bring a topic to everybody who listens for its kind."""
        process = current_process()
        name = process.name if process is not None else "outside"
        loop = self._world.loop
        for bell in self._bells.get(url, ()):
            if topic.partition(":")[0] not in bell.kinds:
                continue
            if not self._world.faults.hits("lost_notice", name, topic.partition(":")[0]):
                loop.call_later(loop.latency(), bell.hear, topic, context=bell.context)


class SimulatedBell:
    """One process's end of the exchange."""

    def __init__(self, exchange: Exchange, url: str, kinds: tuple[str, ...]) -> None:
        self.url = url
        self.kinds = kinds
        self.context = contextvars.copy_context()
        self._exchange = exchange
        self._ears: list[Ear] = []

    async def open(self) -> None:
        """Begin to listen."""
        self._exchange.join(self)

    def ring(self, topic: str) -> None:
        """Tell all who listen for this kind of topic."""
        self._exchange.ring(self.url, topic)

    @contextmanager
    def listen(self) -> Iterator[Ear]:
        """An ear that hears every ring from now on."""
        ear = Ear()
        self._ears.append(ear)
        try:
            yield ear
        finally:
            self._ears.remove(ear)

    def hear(self, topic: str) -> None:
        """A ring has come."""
        for ear in self._ears:
            ear.hear(topic)

    async def close(self) -> None:
        """Listen no more."""
        if self in self._exchange._bells.get(self.url, ()):
            self._exchange.leave(self)


class SimulatedHeartbeat:
    """Beats from a timer of its process, which stands still when the process does."""

    def __init__(self, name: str, beat: Callable[[], bool], pause: float) -> None:
        self._beat = beat
        self._pause = pause
        self._loop: Any = asyncio.get_running_loop()
        self._next: asyncio.TimerHandle | None = None
        self._context = contextvars.copy_context()
        self.is_alive = True

    def start(self) -> None:
        """Begin."""
        self._next = self._loop.call_later(self._pause, self._run, context=self._context)

    def stop(self) -> None:
        """End."""
        if self._next is not None:
            self._next.cancel()

    def stop_soon(self) -> bool:
        """End; no beat is ever under way, since each is one step."""
        self.stop()
        return True

    def _run(self) -> None:
        try:
            goes_on = self._beat()
        except StoreError:
            goes_on = True
        if goes_on:
            self.start()
