"""Every `Files` backend does the same, whatever it keeps files in."""

import itertools
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from tests._postgres import new_database

from toolwright.backends.files import (
    Files,
    FilesystemBackend,
    StateBackend,
    StoreBackend,
)
from toolwright.testing import FILES_CHECKS, check_files
from toolwright.tools import State, StateTable

pytestmark = pytest.mark.anyio


def _state() -> StateBackend:
    return StateBackend(State(StateTable()))


_BACKENDS: dict[str, Callable[[Path], Files]] = {
    "state": lambda _: _state(),
    "sqlite": lambda directory: StoreBackend(f"sqlite:///{directory}/files.db"),
    "postgres": lambda _: StoreBackend(new_database()),
    "directory": FilesystemBackend,
    "directory without ripgrep": lambda path: FilesystemBackend(path, ripgrep=False),
}


@pytest.mark.row("000-31", "000-40", "000-44", "000-45")
@pytest.mark.parametrize("check", FILES_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("kind", _BACKENDS)
async def test_a_backend_conforms(
    kind: str, check: Callable[[Files], Awaitable[None]], tmp_path: Path
) -> None:
    files = _BACKENDS[kind](tmp_path)
    await check(files)
    if isinstance(files, StoreBackend):
        await files.close()


async def test_the_suite_gives_each_check_a_fresh_backend() -> None:
    made = itertools.count()

    def factory() -> Files:
        next(made)
        return _state()

    await check_files(factory)
    assert next(made) == len(FILES_CHECKS)
