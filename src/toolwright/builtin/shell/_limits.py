"""The limits of one command: the executor's own, but for its time and output."""

from dataclasses import replace

from toolwright.backends.executors import Executor, Limits
from toolwright.errors import ToolError

__all__ = ["QUIET", "limits_for"]

QUIET = {
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "MANPAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "TERM": "dumb",
    "NO_COLOR": "1",
}
"""Variables that keep programs from paging, prompting and colouring where nobody looks."""


def limits_for(executor: Executor, timeout: float, output: int) -> Limits:
    """The executor's limits with this time in seconds and this many bytes of output."""
    if timeout <= 0:
        raise ToolError(f"timeout must be more than 0 seconds; got {timeout}.")
    return replace(getattr(executor, "limits", Limits()), timeout=timeout, output=output)
