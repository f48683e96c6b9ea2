"""Python on Monty: a small interpreter in a worker process that starts in milliseconds."""

import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio

from toolwright.backends.executors import Finished, Limits
from toolwright.backends.sandboxes._guest_value import check_guest_value
from toolwright.concurrency import wait_in_thread

try:
    import pydantic_monty as monty
except ImportError as error:
    raise ImportError("Monty needs an extra: pip install 'toolwright[sandbox]'") from error

__all__ = ["MontyPython"]


@dataclass(slots=True)
class _Session:
    limits: Limits
    session: monty.MontySession
    stack: ExitStack


class MontyPython:
    """One session over a workspace; names stay until an error of its own kind ends it."""

    def __init__(self, workspace: Path, inside: str) -> None:
        self._workspace = workspace
        self._inside = inside
        self._open: _Session | None = None
        self._lock = anyio.Lock()

    async def run(self, code: str, limits: Limits) -> Finished:
        """Run one piece of code; concurrent ones take turns."""
        async with self._lock:
            # The interpreter ends by its own clock soon after; its process is replaced, not kept.
            return await wait_in_thread(self._run, code, limits)

    async def close(self) -> None:
        """End the worker."""
        async with self._lock:
            await wait_in_thread(self._end)

    def _run(self, code: str, limits: Limits) -> Finished:
        started = time.monotonic()
        session = self._session(limits)
        streams = monty.CollectStreams(max_bytes=limits.output)
        exit_code, value, trouble, late = 0, None, "", False
        try:
            output = session.feed_run(code, print_callback=streams, mount=self._mount(session))
            value = _written(output, limits.output)
        except _NotShown as error:
            exit_code, trouble = 1, str(error)
        except (monty.MontyRuntimeError, monty.MontySyntaxError) as error:
            exit_code, trouble = 1, error.display()
            late = isinstance(error.exception(), TimeoutError)
            if late or isinstance(error.exception(), MemoryError):
                self._end()
        except monty.MontyError as error:
            exit_code, trouble = 1, str(error)
            late = isinstance(error, monty.MontyCrashedError) and error.timed_out
            self._end()
        trouble = trouble[: limits.output]
        printed = {"stdout": "", "stderr": ""}
        for name, text in streams.output:
            printed[name] += text
        return Finished(
            exit_code=exit_code,
            stdout=printed["stdout"],
            stderr=f"{printed['stderr']}{trouble}\n" if trouble else printed["stderr"],
            ended="timeout" if late else "exited",
            seconds=time.monotonic() - started,
            value=value,
        )

    def _session(self, limits: Limits) -> monty.MontySession:
        if self._open is not None and self._open.limits != limits:
            self._end()
        if self._open is None:
            stack = ExitStack()
            pool = stack.enter_context(monty.Monty(max_processes=1))
            session = stack.enter_context(pool.checkout(limits=_limits(limits)))
            self._open = _Session(limits, session, stack)
        return self._open.session

    def _mount(self, session: monty.MontySession) -> monty.MountDir:
        return monty.MountDir(
            host_path=self._workspace, virtual_path=self._inside, mode="read-write"
        )

    def _end(self) -> None:
        if self._open is not None:
            opened, self._open = self._open, None
            opened.stack.close()


class _NotShown(Exception):
    """The value of the last expression is too much to be written out; the text says why."""


def _written(output: Any, most: int) -> str | None:
    """The value as Python writes it. It came as it is in the worker, whose limits end there."""
    if output is None:
        return None
    try:
        check_guest_value(output, most)
    except ValueError as error:
        raise _NotShown(
            f"The value of the last expression cannot be shown: {error}. Show a part of it."
        ) from error
    return repr(output)


def _limits(limits: Limits) -> monty.ResourceLimits:
    return monty.ResourceLimits(
        max_feed_duration_secs=limits.timeout,
        max_memory=limits.memory,
        max_total_sleep_secs=limits.timeout,
    )
