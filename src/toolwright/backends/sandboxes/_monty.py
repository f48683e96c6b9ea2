"""Python on Monty: its client in a process that is kept, and ended when its time is over."""

import json
import os
import sys
import sysconfig
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from toolwright.backends._own_paths import chosen_program, own_program
from toolwright.backends.executors import Finished, Limits, clean_environment
from toolwright.backends.executors._process import Process, ProcessSpec
from toolwright.backends.sandboxes._monty_worker import LATE
from toolwright.backends.sandboxes._warm_python import AnswerCalls, Start, WarmPython
from toolwright.errors import UsageError

__all__ = ["MontyPython", "run_on_fresh_monty"]

_LIBRARIES = ("pydantic_monty", "pydantic_core", "typing_extensions")
if find_spec(_LIBRARIES[0]) is None:
    raise ImportError("Monty needs an extra: pip install 'toolwright[sandbox]'")
_WORKER = Path(__file__).with_name("_monty_worker.py").read_text(encoding="utf-8")
_OWN_MEMORY = 256 * 1024 * 1024
"""Bytes of address space that the client takes before code has made anything."""
_SPARE = 1.0
"""Seconds after which a process that did not end the code by its own clock is ended."""
_MOST_IDLE = 4
_IDLE_SECONDS = 60.0
"""How long a process waits for code that may come from anybody; then it ends itself."""
_SURELY_IDLE = 50.0
"""How long it is taken for waiting: it must not end just when it is asked."""


class MontyPython:
    """One session over a workspace; names stay until an error of its own kind ends it."""

    def __init__(self, workspace: Path, inside: str) -> None:
        mount = {"host_path": str(workspace), "virtual_path": inside}
        self._python = WarmPython(_start(mount, idle=None))

    async def run(self, code: str, limits: Limits) -> Finished:
        """Run one piece of code; concurrent ones take turns."""
        more = _request(limits, {"max_total_sleep_secs": limits.timeout}, None)
        return _ended(await self._python.run(code, _outer(limits), more=more))

    async def close(self) -> None:
        """End the process."""
        await self._python.close()


async def run_on_fresh_monty(
    code: str,
    limits: Limits,
    session: Mapping[str, Any],
    functions: Sequence[str],
    answer_calls: AnswerCalls,
) -> Finished:
    """Run code that calls functions, in a session that nothing has run in; its value is JSON.

    `session` has the settings of Monty's `checkout`. Time spent on calls does not count.
    """
    outer = _outer(limits)
    more = _request(limits, {"max_suspensions": 10_000}, session)
    python = _idle.take(outer)
    try:
        return _ended(await python.run_alone(code, outer, functions, answer_calls, more))
    finally:
        for other in _idle.give_back(python, outer):
            await other.end()


class _Idle:
    """Processes that wait for code, of whatever agent: to start one takes many times as long as
    most code. One serves one piece of code at a time, and the session in it is a new one each time.
    """

    def __init__(self) -> None:
        self._waiting: list[tuple[float, Limits, WarmPython]] = []
        """Since when, with which limits; in this order."""
        self._lock = threading.Lock()
        if hasattr(os, "register_at_fork"):
            # Two processes must not talk to the same one.
            os.register_at_fork(after_in_child=self._waiting.clear)

    def take(self, limits: Limits) -> WarmPython:
        """The one that waited last, whose memory is warm; else one that has not started yet."""
        with self._lock:
            for one in reversed(self._waiting):
                if _waits(one) and one[1] == _from_start(limits):
                    self._waiting.remove(one)
                    return one[2]
        return WarmPython(_start(None, idle=_IDLE_SECONDS))

    def give_back(self, python: WarmPython, limits: Limits) -> list[WarmPython]:
        """Keep it; returns those that are too many now, or have ended themselves."""
        with self._lock:
            self._waiting.append((time.monotonic(), _from_start(limits), python))
            kept = [one for one in self._waiting if _waits(one)][-_MOST_IDLE:]
            gone = [one[2] for one in self._waiting if one not in kept]
            self._waiting[:] = kept
        return gone


def _waits(one: tuple[float, Limits, WarmPython]) -> bool:
    """Whether it is still there: neither has it ended itself, nor has anybody ended it."""
    since, _, python = one
    return since + _SURELY_IDLE > time.monotonic() and python.is_running


_idle = _Idle()


def _from_start(limits: Limits) -> Limits:
    """The limits that hold from the start of a process."""
    return replace(limits, timeout=None)


def _outer(limits: Limits) -> Limits:
    """The limits of the process; it takes a little longer than the code, to say what happened."""
    return Limits(
        timeout=None if limits.timeout is None else limits.timeout + _SPARE,
        # What the code has made may be there twice, inside and on its way out.
        memory=None if limits.memory is None else 2 * limits.memory + _OWN_MEMORY,
        file_size=limits.file_size,
        output=limits.output,
        grace=limits.grace,
    )


def _request(
    limits: Limits, further: Mapping[str, Any], session: Mapping[str, Any] | None
) -> dict[str, Any]:
    own = {"max_feed_duration_secs": limits.timeout, "max_memory": limits.memory, **further}
    given = {name: number for name, number in own.items() if number is not None}
    return {"limits": given, "output": limits.output, "session": session}


def _ended(done: Finished) -> Finished:
    return replace(done, exit_code=1, ended="timeout") if done.exit_code == LATE else done


def _start(mount: Mapping[str, str] | None, *, idle: float | None) -> Start:
    """How a process is started that has a directory, or none, and ends when nobody asks so long."""
    if sys.platform == "win32":
        raise UsageError("Python on Monty needs POSIX processes; on Windows use WSL.")

    def start(descriptor: int, limits: Limits) -> Process:
        started = {
            "socket": descriptor,
            # Held by the process itself: to be counted from outside would cost time all its life.
            "memory": limits.memory,
            "library": _library(),
            "package": str(Path(__file__).parents[2]),
            "binary": _binary(),
            "mount": mount,
            "idle": idle,
        }
        return Process(
            ProcessSpec(
                argv=own_program(_WORKER, json.dumps(started)),
                cwd="/",
                env=clean_environment({"MALLOC_ARENA_MAX": "1"}),
                limits=replace(limits, memory=None),
                pass_fds=(descriptor,),
            )
        )

    return start


def _library() -> list[str]:
    """Where the libraries are; no more of our path, for code might have written to it."""
    found = [find_spec(name) for name in _LIBRARIES]
    places = [Path(spec.origin) for spec in found if spec is not None and spec.origin]
    folders = [p.parents[1] if p.name == "__init__.py" else p.parent for p in places]
    return list(dict.fromkeys(map(str, folders)))


def _binary() -> str | None:
    """The interpreter's program, where this program's environment has one."""
    scripts = Path(sysconfig.get_path("scripts")) / "monty"
    return chosen_program("MONTY_BIN") or (str(scripts) if scripts.is_file() else None)
