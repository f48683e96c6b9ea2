"""Exit codes that scripts can use."""

from toolwright.agent import Result

__all__ = ["CANCELLED", "DONE", "FAILED", "PAUSED", "STOPPED", "USAGE", "exit_code"]

DONE = 0
FAILED = 1
USAGE = 2
PAUSED = 3
"""Waits for an answer; `toolwright chat --session ID` or the web page can give it."""
STOPPED = 4
"""A limit was reached."""
CANCELLED = 130


def exit_code(result: Result) -> int:
    """The code for how a run ended."""
    if result.status == "done":
        return DONE
    if result.status == "paused":
        return PAUSED
    return CANCELLED if result.reason == "cancelled" else STOPPED
