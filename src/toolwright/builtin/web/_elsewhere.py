"""Read what a website sent in a process of its own, which ends in time and when nobody waits for it."""

import math
import os
import subprocess
from collections.abc import Sequence

import anyio
from anyio import CapacityLimiter
from anyio.lowlevel import RunVar

from toolwright.backends.executors import clean_environment, own_program
from toolwright.errors import ToolError

__all__ = ["read_elsewhere"]

_SECONDS = 20.0
"""How long one page may take."""
_PROCESSES = 4
"""At once: so much memory each can take."""
_AT_ONCE: RunVar[CapacityLimiter] = RunVar("toolwright_web_processes")


async def read_elsewhere(program: Sequence[str], url: str, page: str) -> bytes:
    """What the Python `program`, given the page on stdin after its address, writes to stdout.

    It is given as its text, and its arguments; a last one is added, the seconds it has. It knows
    nothing of our environment but the usual few variables. Cancelling ends it. Raises `ToolError`
    when it fails or takes too long.
    """
    # By its input, since everybody on the machine can read what a process was started with.
    sent = f"{url}\n{page}".encode("utf-8", "replace")
    command = own_program(*program, str(math.ceil(_SECONDS)))
    try:
        async with _limiter():
            with anyio.fail_after(_SECONDS):
                done = await anyio.run_process(command, input=sent, env=_environment())
    except TimeoutError as error:
        why = f"not within {_SECONDS:g} s"
        raise ToolError(f"The page {url!r:.300} cannot be read: {why}.") from error
    except (subprocess.SubprocessError, anyio.BrokenResourceError, OSError) as error:
        raise ToolError(f"The page {url!r:.300} cannot be read: it broke the reader.") from error
    return done.stdout


def _environment() -> dict[str, str]:
    # Without it, Python does not start on Windows.
    needed = {name: os.environ[name] for name in ("SYSTEMROOT",) if name in os.environ}
    return clean_environment(needed)


def _limiter() -> CapacityLimiter:
    """Of each event loop its own."""
    try:
        return _AT_ONCE.get()
    except LookupError:
        _AT_ONCE.set(limiter := CapacityLimiter(_PROCESSES))
        return limiter
