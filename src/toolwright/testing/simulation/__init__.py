"""Run your agents, stores and workers on one virtual clock, where everything that can fail does."""

from toolwright.testing.simulation._faults import Fault, FaultKind
from toolwright.testing.simulation._ledger import Ledger
from toolwright.testing.simulation._process import GaveUp, Process, ProcessDied
from toolwright.testing.simulation._seed import Outcome, Scenario, run_seed
from toolwright.testing.simulation._simulate import Simulated, SimulationFailed, simulate
from toolwright.testing.simulation._simulation import Broken, Simulation

__all__ = [
    "Broken",
    "Fault",
    "FaultKind",
    "GaveUp",
    "Ledger",
    "Outcome",
    "Process",
    "ProcessDied",
    "Scenario",
    "Simulated",
    "Simulation",
    "SimulationFailed",
    "run_seed",
    "simulate",
]
