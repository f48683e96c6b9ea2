"""The few places where a simulation takes the place of the clock, of threads and of the system.

All of them are here, so that there is one file to look at when something in the library moves. They
hold in the simulation's thread alone: a server that a test has running in another one goes on by
the real clock.
"""

import random
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from random import Random
from typing import Any
from unittest.mock import patch

from anyio._backends import _asyncio as anyio_asyncio

from toolwright.testing.simulation._loop import SimulatedLoop
from toolwright.testing.simulation._threads import (
    OrderedScopes,
    PoolInPlace,
    refuse_thread,
    run_in_place,
)

__all__ = ["EPOCH", "Place", "has_sql", "seams"]

EPOCH = 1_800_000_000.0
"""What the wall clock says when a simulation begins, less a little."""

Place = tuple[str, str, Any]
"""A module, a name in it, and what stands there instead."""


@contextmanager
def seams(
    loop: SimulatedLoop, seed: int, pause: Callable[[], float], more: Callable[[], list[Place]]
) -> Iterator[None]:
    """Hold all places while a seed runs."""
    numbers = Random(f"{seed}/ids")
    kept = random.getstate()
    with ExitStack() as stack:
        stack.callback(random.setstate, kept)
        random.seed(seed)
        for name in ("monotonic", "perf_counter"):
            stack.enter_context(patch.object(time, name, _here(loop.time, getattr(time, name))))
        wall = _here(lambda: EPOCH + loop.time(), time.time)
        stack.enter_context(patch.object(time, "time", wall))
        stack.enter_context(patch.object(uuid, "uuid4", _here(partial(_uuid, numbers), uuid.uuid4)))
        backend = anyio_asyncio.AsyncIOBackend
        in_place = _here(run_in_place(loop, pause), backend.run_sync_in_worker_thread)
        stack.enter_context(
            patch.object(backend, "run_sync_in_worker_thread", staticmethod(in_place))
        )
        start = _here(refuse_thread, threading.Thread.start)
        stack.enter_context(patch.object(threading.Thread, "start", start))
        stack.enter_context(_ordered_scopes())
        for module, name, instead in [*_own_threads(loop, pause), *more()]:
            stack.enter_context(patch(f"{module}.{name}", instead))
        yield


def _own_threads(loop: SimulatedLoop, pause: Callable[[], float]) -> Iterator[Place]:
    """The library's own threads, where it has them: a database's writer, and users' functions."""
    known: list[Place] = [
        ("toolwright.backends.sql._group", "start_thread", lambda target: loop.in_thread(target)),
        ("toolwright.backends.sql._group", "IDLE_SECONDS", 0.0),
        ("toolwright.concurrency._user_threads", "_POOL", PoolInPlace(loop, pause)),
    ]
    for module, name, instead in known:
        with suppress(ImportError):
            real = getattr(import_module(module), name, None)
            if real is not None:
                yield module, name, _here(instead, real) if callable(real) else instead


def _here(simulated: Callable[..., Any], real: Callable[..., Any]) -> Callable[..., Any]:
    """The one in this thread, the other in those that the simulation knows nothing of."""
    thread = threading.get_ident()

    def choose(*args: Any, **settings: Any) -> Any:
        return (simulated if threading.get_ident() == thread else real)(*args, **settings)

    return choose


def _uuid(numbers: Random) -> uuid.UUID:
    return uuid.UUID(int=numbers.getrandbits(128), version=4)


@contextmanager
def _ordered_scopes() -> Iterator[None]:
    """Inner scopes are cancelled in the order of their making, whatever their addresses are."""
    original = anyio_asyncio.CancelScope.__init__

    def init(self: Any, *args: Any, **settings: Any) -> None:
        original(self, *args, **settings)
        self._child_scopes = OrderedScopes()

    with patch.object(anyio_asyncio.CancelScope, "__init__", init):
        yield


def has_sql() -> bool:
    """Whether SQL stores, and with them durable tasks, are installed."""
    return find_spec("sqlalchemy") is not None
