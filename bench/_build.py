"""What it takes to import a framework and make an agent with three tools.

Apart from the other measurements, and with few imports, so that what is counted is the framework's.
"""

import importlib
import sys
import time
from pathlib import Path

from bench._functions import helpers
from bench._script import calls

__all__ = ["build", "megabytes", "most_megabytes"]


def build(peer: str) -> dict[str, float]:
    """Processor time, modules and memory of the process."""
    script = calls(1)
    began = time.process_time()
    module = importlib.import_module(f"bench.peers.{peer}")
    module.build(helpers(sync=getattr(module, "SYNC_ONLY", False)), script)
    seconds = time.process_time() - began
    return {
        "import and build an agent: CPU ms": seconds * 1e3,
        "import and build an agent: modules": len(sys.modules),
        "import and build an agent: MB": megabytes(),
    }


def megabytes() -> float:
    """What this process has in memory now."""
    return _status("VmRSS")


def most_megabytes() -> float:
    """The most it ever had."""
    return _status("VmHWM")


def _status(name: str) -> float:
    # Not getrusage: its maximum is inherited from the process that started this one.
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1]) / 1024
    raise RuntimeError(f"this system does not tell {name}")
