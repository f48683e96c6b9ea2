"""Ways to touch the world: files, processes, the network, and stores for what must be kept."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from toolwright.backends._store import OpenCall, SessionRow, Store
from toolwright.backends._truncate import Truncated, format_size, truncate_head, truncate_tail
from toolwright.backends.executors import (
    Capabilities,
    Command,
    Ended,
    Executor,
    Finished,
    Job,
    Limits,
    LocalExecutor,
    OnOutput,
    Sandbox,
    demand,
)

if TYPE_CHECKING:
    from toolwright.backends._network import Reachable, guarded_client, guarded_transport

_LAZY = {
    "Reachable": "_network",
    "guarded_client": "_network",
    "guarded_transport": "_network",
}
"""Names that need an optional dependency or are slow to import, and the file each is in."""

__all__ = [
    "Capabilities",
    "Command",
    "Ended",
    "Executor",
    "Finished",
    "Job",
    "Limits",
    "LocalExecutor",
    "OnOutput",
    "OpenCall",
    "Reachable",
    "Sandbox",
    "SessionRow",
    "Store",
    "Truncated",
    "demand",
    "format_size",
    "guarded_client",
    "guarded_transport",
    "truncate_head",
    "truncate_tail",
]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
