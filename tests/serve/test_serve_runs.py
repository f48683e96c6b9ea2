"""Runs that belong to the server: when one is over."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import anyio
import pytest

from toolwright import Agent, Runner
from toolwright.messages import AnyEvent, RunEnded
from toolwright.serve.live import LiveRuns, Notices
from toolwright.testing import ScriptedModel

pytestmark = pytest.mark.anyio


class _Lingering(Runner):
    """Takes its time between the last event and the end."""

    async def stream(self, *args: Any, **settings: Any) -> AsyncGenerator[AnyEvent, None]:
        async for event in super().stream(*args, **settings):
            yield event
        for _ in range(100):
            await anyio.lowlevel.checkpoint()


async def test_a_run_is_over_when_its_end_is_announced_so_the_next_may_begin() -> None:
    runner = _Lingering(Agent(name="t", model=ScriptedModel("One.", "Two.")))
    runs = LiveRuns(runner, Notices())
    texts = []
    with anyio.fail_after(30):
        async with runs.open():
            await runs.start("s", "user", "first")
            row = await runner.store.find(runner.app_name, "s")
            assert row is not None
            async with aclosing(runs.follow(row, 0)) as batches:
                async for batch in batches:
                    for shown in batch:
                        if isinstance(shown.event, RunEnded):
                            texts.append(shown.event.text)
                            if len(texts) == 1:
                                await runs.start("s", "user", "second")
                    if len(texts) == 2:
                        break
    assert texts == ["One.", "Two."]
