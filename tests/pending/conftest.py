from collections.abc import Iterator

import pytest
from tests._oauth import Provider, started_provider


@pytest.fixture(scope="session")
def running_provider() -> Iterator[Provider]:
    with started_provider() as provider:
        yield provider


@pytest.fixture
def provider(running_provider: Provider) -> Iterator[Provider]:
    yield running_provider
    running_provider.admin(forget=True)
