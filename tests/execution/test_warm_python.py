"""The warm interpreter and the descriptor it talks through."""

import pytest

from toolwright.backends import Limits
from toolwright.backends.executors._process import Process
from toolwright.backends.sandboxes._warm_python import WarmPython
from toolwright.errors import StoreError

pytestmark = pytest.mark.anyio


async def test_the_descriptor_is_none_of_those_that_walls_use_themselves() -> None:
    given: list[int] = []

    def start(descriptor: int, limits: Limits) -> Process:
        given.append(descriptor)
        raise StoreError("not today")

    with pytest.raises(StoreError, match="not today"):
        await WarmPython(start).run("1", Limits())
    assert given[0] >= 10
