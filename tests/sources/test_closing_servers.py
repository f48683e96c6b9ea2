"""A connection whose other side does not let go is left all the same."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest

from toolwright.sources._owned import Owned

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolwright.sources._owned._GOODBYE", 0.01)


async def test_what_is_not_left_by_itself_is_cancelled() -> None:
    left: list[str] = []

    @asynccontextmanager
    async def opened() -> AsyncIterator[str]:
        try:
            yield "open"
            await anyio.sleep_forever()
        finally:
            left.append("left")

    owned = Owned(opened, 10)
    assert await owned.opened() == "open"
    with anyio.fail_after(10):
        await owned.close()
    assert (left, owned.ended) == (["left"], True)
