"""Where commands run: the protocol, and processes of this machine."""

from toolwright.backends.executors._executor import (
    Capabilities,
    Command,
    Ended,
    Executor,
    Finished,
    Job,
    Limits,
    OnOutput,
    Sandbox,
    demand,
)
from toolwright.backends.executors._local import INHERITED, LocalExecutor, clean_environment

__all__ = [
    "INHERITED",
    "Capabilities",
    "Command",
    "Ended",
    "Executor",
    "Finished",
    "Job",
    "Limits",
    "LocalExecutor",
    "OnOutput",
    "Sandbox",
    "clean_environment",
    "demand",
]
