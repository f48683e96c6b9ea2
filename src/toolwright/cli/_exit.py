"""Exit codes that scripts can use."""

from typing import Literal, Protocol

__all__ = ["BROKEN_PIPE", "CANCELLED", "DONE", "FAILED", "PAUSED", "STOPPED", "USAGE", "exit_code"]

DONE = 0
FAILED = 1
USAGE = 2
PAUSED = 3
"""Waits for an answer; `toolwright sessions answer`, `toolwright chat -s ID` or the web page give it."""
STOPPED = 4
"""A limit was reached."""
CANCELLED = 130
"""What a shell says of a program that Ctrl-C ended."""
BROKEN_PIPE = 141
"""What a shell says of a program whose reader went away."""


class _Ended(Protocol):
    """The part of a `Result` that counts here; the agents themselves are slow to load."""

    @property
    def status(self) -> Literal["done", "paused", "stopped"]: ...
    @property
    def reason(self) -> str: ...


def exit_code(result: _Ended) -> int:
    """The code for how a run ended."""
    if result.status == "done":
        return DONE
    if result.status == "paused":
        return PAUSED
    return CANCELLED if result.reason == "cancelled" else STOPPED
