"""Where simulated processes run: all on one machine, or each on its own, as the seed says."""

from toolwright.backends._processes import Process as Identity
from toolwright.testing.simulation._process import current_process
from toolwright.testing.simulation._simulation import Simulation

__all__ = ["Machines"]


class Machines:
    """Stands in for the system, which knows its processes and those that have ended."""

    def __init__(self, sim: Simulation) -> None:
        self._sim = sim

    def this_process(self) -> Identity:
        """The process whose code is running; the scenario itself is one too."""
        process = current_process()
        if process is None:
            return Identity("outside", 0)
        number = self._sim.processes.index(process) + 1
        return Identity("one" if self._sim.on_one_machine else f"machine-{number}", number)

    def is_running(self, process: Identity) -> bool:
        """Whether a process still runs; one of another machine may."""
        is_here = self.this_process().machine == process.machine
        return not is_here or not process.pid or self._sim.processes[process.pid - 1].alive
