"""The checks run on asyncio, in the environments of the other frameworks too."""

import pytest


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"
