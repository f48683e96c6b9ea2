"""What a scenario is given: processes, databases, a model, a ledger, and one seed for all of them."""

import asyncio
from collections.abc import Collection, Sequence
from random import Random
from typing import Any, TypeVar

import anyio

from toolwright._sealed import Sealed
from toolwright.errors import ModelError, StoreError
from toolwright.messages import Event
from toolwright.testing.simulation._faults import FaultKind, FaultPlan
from toolwright.testing.simulation._handle import Handle
from toolwright.testing.simulation._journal import check_journal
from toolwright.testing.simulation._ledger import Ledger
from toolwright.testing.simulation._loop import SimulatedLoop
from toolwright.testing.simulation._model import SimulatedModel, Turn
from toolwright.testing.simulation._process import (
    GaveUp,
    Main,
    Process,
    ProcessDied,
    current_process,
)

__all__ = ["Broken", "Simulation"]

T = TypeVar("T")
SURVIVABLE = (ProcessDied, GaveUp, StoreError, ModelError)
"""What a process may end with when faults are about; whoever started it starts it again."""


class Broken(AssertionError):
    """Something that must hold did not."""


class Simulation(Sealed):
    """One seed of a scenario: everything in it is drawn from the seed and runs on a virtual clock."""

    def __init__(
        self,
        seed: int,
        *,
        kinds: Collection[FaultKind] | None = None,
        without: Collection[str] = (),
    ) -> None:
        self.seed = seed
        self.random = Random(f"{seed}/scenario")
        """For the scenario's own choices."""
        self.loop = SimulatedLoop(Random(f"{seed}/schedule"))
        self.faults = FaultPlan(seed, self.loop.time, kinds, without)
        self.ledger = Ledger(self._whose, self.loop.time)
        """What really happened; effects of dead processes are refused."""
        self.trace: list[tuple[float, str, str]] = []
        self.processes: list[Process] = []
        self.journals: dict[str, list[Event]] = {}
        """The stored events that were checked, by session."""
        self.on_one_machine = Random(f"{seed}/machines").random() < 0.5
        """Whether processes see each other end, or each runs on a machine of its own."""
        self.all_away_until = 0.0
        self._services: list[asyncio.Task[None]] = []
        self._began = self.loop.time()

    # -- the world ---------------------------------------------------------------------------

    def database(self, name: str = "main") -> str:
        """The address of a SQLite database that all processes of the simulation share."""
        return f"sqlite:///simulated-{name}.db"

    def model(self, *turns: Turn, cost: float = 0.0) -> SimulatedModel:
        """A model that plays these turns: a text, or a list of calls (`call("pay", invoice="a")`).

        Which turn depends on how often it has spoken in the conversation, so the same model goes on
        in another process. `cost` is what each turn costs.
        """
        return SimulatedModel(turns, self.trouble, cost)

    async def effect(self, name: str, key: str, *, repeatable: bool = False) -> None:
        """Do something to the outside world, at one moment of the time that this takes.

        It may raise before, or after it took place, and a process may die before or after; it must
        take place once unless it is `repeatable`.
        """
        await self.trouble(f"{name}({key})", ConnectionError("simulated: the service is away"))
        await self._travel()
        self.ledger.record(name, key, repeatable=repeatable)
        self.note(f"{name}({key!r}) takes place")
        await self._travel()
        if self.faults.hits("error", self._whose(), f"{name}({key}) is done, but its answer lost"):
            self.note(f"the answer of {name}({key!r}) is lost")
            raise ConnectionError("simulated: the connection was lost before the answer came")

    async def trouble(self, what: str, error: Exception | None = None) -> None:
        """Take a moment; when the seed says so, a long one, or raise `error` if there is one."""
        name = self._whose()
        await anyio.sleep(self.loop.latency())
        if (drawn := self.faults.draw("late", name)) is not None:
            seconds = drawn.between(0.01, 60)
            if self.faults.happens(drawn, f"{what} takes {seconds:.2f} s"):
                await anyio.sleep(seconds)
        if error is not None and self.faults.hits("error", name, f"{what} fails"):
            self.note(f"{what} fails")
            raise error

    def handle(self, thing: T, error: type[Exception] = StoreError) -> T:
        """`thing` as a process sees it: each awaited call may fail before or after, or take long.

        For stores and services of your own that are not behind SQL: what they raise is an `error`.
        """
        return Handle(thing, self, error)  # type: ignore[bad-return]

    # -- processes ---------------------------------------------------------------------------

    def process(self, name: str) -> Process:
        """A new process. The same name again is its next incarnation."""
        earlier = sum(process.name.partition("#")[0] == name for process in self.processes)
        made = Process(self, f"{name}#{earlier + 1}" if earlier else name)
        self.processes.append(made)
        return made

    async def run(self, name: str, main: Main[T], *, impatient: bool = False) -> T:
        """What `main` returns in a process; started again when that dies, or its store fails.

        An `impatient` caller may cancel it, and begins again too.
        """
        while True:
            process = self.process(name)
            try:
                return await process.run(main, impatient=impatient)
            except SURVIVABLE as error:
                self.note(f"{process.name} ended: {type(error).__name__}: {error}")
                process.stop()
            await anyio.sleep(self.random.choice([0.001, 0.1, 1.0, 5.0]))

    def start(self, name: str, main: Main[Any]) -> None:
        """`run` in the background, until the scenario is over: a worker, or another service."""

        async def serve() -> None:
            await self.run(name, main)

        self._services.append(self.loop.create_task(serve()))

    async def stop(self) -> None:
        """End what was started, as a service manager does; raises what a service has raised."""
        for task in self._services:
            if task.done() and not task.cancelled():
                task.result()
        living = [process for process in self.processes if process.alive]
        for process in living:
            process.stop()
        for task in self._services:
            task.cancel()
        left = [task for process in living for task in process.tasks if not task.done()]
        if left:
            await asyncio.wait(left)

    # -- looking -----------------------------------------------------------------------------

    @property
    def now(self) -> float:
        """Seconds since the simulation began."""
        return self.loop.time() - self._began

    def note(self, text: str) -> None:
        """Add a line to the trace."""
        process = current_process()
        self.trace.append((self.now, process.name if process is not None else "", text))

    def check(self, condition: bool, message: str) -> None:
        """Something that must hold."""
        if not condition:
            raise Broken(message)

    def check_journal(self, session_id: str, events: Sequence[Event]) -> None:
        """Hold the stored events of a session against the ledger.

        Numbered without a gap; every call has one result, and one that says `ok` had its effect;
        each accepted answer is the one that its call got; no store's error was shown to the model.
        """
        self.journals[session_id] = list(events)
        for problem in check_journal(session_id, events, self.ledger):
            raise Broken(problem)

    def happened(self, *kinds: FaultKind) -> bool:
        """Whether a fault of one of these kinds has happened."""
        return any(fault.kind in kinds for fault in self.faults.happened)

    # -- inside ------------------------------------------------------------------------------

    async def _travel(self) -> None:
        """A request or its answer is under way for some steps, in which the process may die."""
        for _ in range(4):
            await anyio.sleep(self.loop.latency())

    def _whose(self) -> str:
        process = current_process()
        if process is None:
            return "outside"
        process.must_live()
        return process.name

    def away(self) -> bool:
        """Whether the stores cannot be reached from here now; an outage may begin with this."""
        process = current_process()
        if process is None:
            return False
        process.must_live()
        if (drawn := self.faults.draw("outage", process.name)) is not None:
            seconds, everybody = drawn.between(0.05, 20), drawn.random.random() < 0.5
            of = "everybody" if everybody else process.name
            if self.faults.happens(drawn, f"of {seconds:.2f} s for {of}"):
                self.note(f"the store is away for {of} for {seconds:.2f} s")
                until = self.loop.time() + seconds
                if everybody:
                    self.all_away_until = until
                else:
                    process.away_until = until
        return self.loop.time() < max(process.away_until, self.all_away_until)

    def slowness(self) -> float:
        """How much longer a piece of work in a thread takes."""
        process = current_process()
        drawn = None if process is None else self.faults.draw("slow", process.name)
        if drawn is None:
            return 0.0
        seconds = drawn.between(0.01, 20)
        if not self.faults.happens(drawn, f"by {seconds:.2f} s"):
            return 0.0
        self.note(f"work in a thread takes {seconds:.2f} s")
        return seconds
