"""Every memory service does the same, whatever it keeps memories in."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from tests._postgres import new_database
from tests.memory._embedder import embed_words

from toolwright.backends import open_memory
from toolwright.testing import MEMORY_CHECKS, check_memory
from toolwright.tools import Memory

pytestmark = pytest.mark.anyio

_ADDRESSES: dict[str, Callable[[Path], str]] = {
    "memory": lambda _: "memory://",
    "sqlite": lambda directory: f"sqlite:///{directory}/memory.db",
    "postgres": lambda _: new_database(),
}


@pytest.mark.parametrize("check", MEMORY_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("embedder", [None, embed_words], ids=["words", "meaning"])
@pytest.mark.parametrize(
    "kind", ["memory", "sqlite", pytest.param("postgres", marks=pytest.mark.postgres)]
)
async def test_a_memory_conforms(
    kind: str,
    embedder: Callable[[list[str]], list[list[float]]] | None,
    check: Callable[[Memory], Awaitable[None]],
    tmp_path: Path,
) -> None:
    memory = open_memory(_ADDRESSES[kind](tmp_path), embedder=embedder)
    await check(memory)
    await memory.close()


async def test_the_whole_suite_runs_on_a_factory() -> None:
    await check_memory(lambda: open_memory("memory://"))
