"""Where commands run: the protocol, and processes of this machine."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from toolwright.backends._own_paths import own_program
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
    require_runnable,
    shell_argv,
)
from toolwright.backends.executors._launcher import launcher_command

if TYPE_CHECKING:
    from toolwright.backends.executors._local import INHERITED, LocalExecutor, clean_environment

_LAZY = {"INHERITED": "_local", "LocalExecutor": "_local", "clean_environment": "_local"}
"""Names that are slow to import, and the file each is in."""

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
    "launcher_command",
    "own_program",
    "require_runnable",
    "shell_argv",
]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
