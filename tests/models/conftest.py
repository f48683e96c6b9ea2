"""What the tests of the providers share."""

import socket
from collections.abc import AsyncIterator

import pytest
from tests.models.wire import Wire, running


@pytest.fixture
async def wire(anyio_backend: str) -> AsyncIterator[Wire]:
    async with running() as wire:
        yield wire


@pytest.fixture
def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
