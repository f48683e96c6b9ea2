from collections.abc import Iterator

import pytest
from tests.sources.openapi._recorder import Recorder


@pytest.fixture(scope="session")
def _recorder() -> Iterator[Recorder]:
    with Recorder().running() as recorder:
        yield recorder


@pytest.fixture
def server(_recorder: Recorder) -> Recorder:
    """A server on loopback that has not been asked anything yet."""
    _recorder.seen.clear()
    _recorder.replies.clear()
    return _recorder
