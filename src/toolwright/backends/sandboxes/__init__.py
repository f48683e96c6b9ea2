"""Executors with walls: what runs in them can do no more than they let it."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from toolwright.backends.sandboxes._allowed_hosts import AllowedHosts
from toolwright.backends.sandboxes._bubblewrap import Bubblewrap
from toolwright.backends.sandboxes._guest_json import (
    TooDeep,
    check_guest_json,
    cut_guest_json,
    read_guest_json,
)
from toolwright.backends.sandboxes._landlock import Landlock
from toolwright.backends.sandboxes._open import open_executor, open_sandbox
from toolwright.backends.sandboxes._os_sandbox import OsSandbox
from toolwright.backends.sandboxes._seatbelt import Seatbelt
from toolwright.backends.sandboxes._secrets import HostSecret
from toolwright.backends.sandboxes._server_sandbox import ServerSandbox
from toolwright.backends.sandboxes._walls import Room, Walls

if TYPE_CHECKING:
    from toolwright.backends.sandboxes._monty import run_on_fresh_monty
    from toolwright.backends.sandboxes._portable import PortableSandbox
    from toolwright.backends.sandboxes._ssh import SshExecutor

_LAZY = {"PortableSandbox": "_portable", "SshExecutor": "_ssh", "run_on_fresh_monty": "_monty"}
"""Names that need an optional dependency, and the file each is in."""

__all__ = [
    "AllowedHosts",
    "Bubblewrap",
    "HostSecret",
    "Landlock",
    "OsSandbox",
    "PortableSandbox",
    "Room",
    "Seatbelt",
    "ServerSandbox",
    "SshExecutor",
    "TooDeep",
    "Walls",
    "check_guest_json",
    "cut_guest_json",
    "open_executor",
    "open_sandbox",
    "read_guest_json",
    "run_on_fresh_monty",
]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
