"""Forget tasks that ended long ago, with all that belongs to them, in small steps."""

import logging
import time
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

from toolwright.agent import Runner
from toolwright.errors import StoreError, UsageError
from toolwright.tasks._queue import Queue

__all__ = ["STEP", "prune_some", "seconds_of"]

STEP = 100
"""How many tasks are forgotten in one transaction: others wait for it no longer than for a claim."""
logger = logging.getLogger("toolwright")


async def prune_some(
    queue: Queue, runner_of: Callable[[str], Runner], where: Mapping[str, Any], seconds: float
) -> int:
    """Forget up to `STEP` tasks that ended so many seconds ago, and what was left over; how many."""
    pruned = await queue.prune(where, time.time() - seconds, STEP)
    for left in await queue.left_over(where.get("agent"), STEP):
        try:
            await runner_of(left.agent).delete(left.task_id)
        except UsageError:
            pass  # It never began, or whoever wanted to delete it died after that.
        except StoreError as error:
            # Another process is at it, or the database is away: the next step sees to it.
            logger.warning("the session of task %s is deleted later: %s", left.task_id, error)
            continue
        await queue.forget(left.task_id)
    return pruned


def seconds_of(age: timedelta | float, what: str) -> float:
    """An age in seconds; `UsageError` when it is none."""
    seconds = age.total_seconds() if isinstance(age, timedelta) else age
    if not seconds >= 0:
        raise UsageError(f"{what} is a timedelta or a number of seconds; got {age!r}.")
    return seconds
