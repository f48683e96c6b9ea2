"""What broke is opened again at once the first time, then with pauses that grow."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from toolwright.sources import _reopening
from toolwright.sources._reopening import Reopening, Unavailable

pytestmark = pytest.mark.anyio


class Link:
    broken = False


async def test_the_first_retry_comes_at_once_and_the_next_ones_later_and_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now, pauses = [1000.0], list[float]()
    monkeypatch.setattr(_reopening.time, "monotonic", lambda: now[0])

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)
        now[0] += seconds

    @asynccontextmanager
    async def failing() -> AsyncIterator[Link]:
        raise OSError("not there")
        yield Link()

    link = Reopening(failing, "the server", timeout=10)
    for _ in range(4):
        with monkeypatch.context() as patch:
            patch.setattr(_reopening.asyncio, "sleep", sleep)
            with pytest.raises(Unavailable, match="the server is not available: not there"):
                await link.get()
    assert pauses == [0, 0, 0.25, 0.5]
    await link.close()
