"""Every store does the same, whatever it keeps sessions in."""

import itertools
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from tests._postgres import new_database

from toolwright.backends import Store, open_store
from toolwright.testing import STORE_CHECKS, check_store

pytestmark = pytest.mark.anyio

_ADDRESSES: dict[str, Callable[[Path], str]] = {
    "memory": lambda _: "memory://",
    "sqlite": lambda directory: f"sqlite:///{directory}/sessions.db",
    "postgres": lambda _: new_database(),
}


@pytest.mark.parametrize("check", STORE_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize(
    "kind", ["memory", "sqlite", pytest.param("postgres", marks=pytest.mark.postgres)]
)
async def test_a_store_conforms(
    kind: str, check: Callable[[Store], Awaitable[None]], tmp_path: Path
) -> None:
    store = open_store(_ADDRESSES[kind](tmp_path))
    await check(store)
    await store.close()


async def test_the_suite_gives_each_check_a_fresh_store_and_closes_it(tmp_path: Path) -> None:
    numbers = itertools.count()
    await check_store(lambda: open_store(f"sqlite:///{tmp_path}/{next(numbers)}.db"))
    assert next(numbers) == len(STORE_CHECKS)
