"""Where SQL stores and durable tasks meet a simulation: their databases, notices and heartbeats."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from sqlalchemy import Connection

from toolwright.backends.sql import Database
from toolwright.testing.simulation._machines import Machines
from toolwright.testing.simulation._notices import Exchange, SimulatedHeartbeat
from toolwright.testing.simulation._process import current_process
from toolwright.testing.simulation._seams import Place
from toolwright.testing.simulation._simulation import Simulation
from toolwright.testing.simulation._sqlite import Databases, Verdict

__all__ = ["sql_seams"]


@contextmanager
def sql_seams(sim: Simulation) -> Iterator[Callable[[], list[Place]]]:
    """What stands in for the system while a seed runs."""
    databases = Databases(lambda write: _judge(sim, write))
    exchange, machines = Exchange(sim), Machines(sim)
    try:
        yield lambda: [
            ("toolwright.backends.sql._database", "_make_engine", databases.make_engine),
            ("toolwright.backends.sql._database", "Database._prepare", _preparing(databases)),
            ("toolwright.tasks._orchestrator", "open_bell", exchange.open_bell),
            ("toolwright.tasks._worker", "Heartbeat", SimulatedHeartbeat),
            ("toolwright.backends.sql._holds", "Heartbeat", SimulatedHeartbeat),
            ("toolwright.backends._processes", "this_process", machines.this_process),
            ("toolwright.backends._processes", "is_running", machines.is_running),
        ]
    finally:
        databases.close()


def _preparing(databases: Databases) -> Callable[[Database, Connection], None]:
    """Looks for the tables in the first seed only: they are put back for the others."""
    prepare = Database._prepare

    def _prepare(self: Database, connection: Connection) -> None:
        if not databases.has_tables(self._url, [name for name, _, _ in self._components]):
            prepare(self, connection)

    return _prepare


def _judge(sim: Simulation, write: bool) -> Verdict:
    """What becomes of a transaction of whoever asks for it."""
    process = current_process()
    if process is None:
        return "works"
    if not process.alive or sim.away() or sim.faults.hits("fail_before", process.name):
        return "fail_before"
    if write and sim.faults.hits("fail_after", process.name):
        sim.note("a commit takes effect, but is said to have failed")
        return "fail_after"
    return "works"
