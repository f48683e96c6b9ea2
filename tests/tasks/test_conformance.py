"""Tasks do what they promise on both databases."""

from collections.abc import Awaitable, Callable

import pytest

from toolwright.tasks import Orchestrator
from toolwright.testing import TASK_CHECKS

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("tasks")]


@pytest.mark.row("003-N10a", "003-N10b", "003-N10c", "003-N11", "003-N10f", "003-N18", "003-N10g")
@pytest.mark.parametrize("check", TASK_CHECKS, ids=lambda check: check.__name__[6:])
async def test_tasks(url: str, check: Callable[[Orchestrator], Awaitable[None]]) -> None:
    made = Orchestrator(url)
    try:
        await check(made)
    finally:
        await made.close()
