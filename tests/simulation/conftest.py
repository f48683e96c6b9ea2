"""Simulations have the process to themselves, and the failures in them need not be logged."""

import logging
import threading
from collections.abc import Iterator

import pytest

from toolwright.backends.sql import Heartbeat


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    logger = logging.getLogger("toolwright")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    yield
    logger.setLevel(level)


@pytest.fixture(autouse=True)
def alone() -> None:
    """Runs that other tests have left without an end still show that they are alive: no more."""
    for thread in threading.enumerate():
        left = getattr(getattr(thread, "_target", None), "__self__", None)
        if isinstance(left, Heartbeat):
            left.stop()
