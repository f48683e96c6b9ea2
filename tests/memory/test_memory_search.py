"""Finding memories by words, by meaning, and by both."""

from pathlib import Path

import pytest
from tests._postgres import new_database
from tests.memory._embedder import embed_words

from toolwright.backends import SqlMemory, open_memory
from toolwright.errors import StoreError, UsageError
from toolwright.messages import MemoryEntry, Scope

pytestmark = pytest.mark.anyio

ADA = Scope(app_name="app", user_id="ada", session_id="s1")


@pytest.fixture(params=["memory", pytest.param("postgres", marks=pytest.mark.postgres)])
def address(request: pytest.FixtureRequest) -> str:
    return "memory://" if request.param == "memory" else new_database()


async def _search(memory: SqlMemory, query: str) -> list[str]:
    return [entry.content for entry in (await memory.search(ADA, query)).memories]


async def _with(memory: SqlMemory, *contents: str) -> SqlMemory:
    await memory.add(ADA, [MemoryEntry(content=content) for content in contents])
    return memory


async def test_with_an_embedder_other_words_for_it_find_it(address: str) -> None:
    by_words = await _with(SqlMemory(address), "Drives a red automobile")
    assert await _search(by_words, "car") == []
    await by_words.forget(ADA)
    by_meaning = await _with(SqlMemory(address, embedder=embed_words), "Drives a red automobile")
    assert await _search(by_meaning, "which car") == ["Drives a red automobile"]
    await by_words.close()
    await by_meaning.close()


async def test_what_fits_by_words_and_by_meaning_comes_first() -> None:
    memory = await _with(
        SqlMemory("memory://", embedder=embed_words),
        "The puppy sleeps",
        "The vehicle is a red car",
        "A car wash is near",
    )
    assert (await _search(memory, "red vehicle car"))[0] == "The vehicle is a red car"
    assert "The puppy sleeps" not in await _search(memory, "red vehicle car")


async def test_an_embedder_may_be_async() -> None:
    async def embedder(texts: list[str]) -> list[list[float]]:
        return embed_words(texts)

    memory = await _with(SqlMemory("memory://", embedder=embedder), "Has a puppy")
    assert await _search(memory, "dog") == ["Has a puppy"]


async def test_memories_made_without_an_embedder_are_still_found_by_words(tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path}/memory.db"
    await (await _with(SqlMemory(address), "Has a puppy")).close()
    later = SqlMemory(address, embedder=embed_words)
    assert await _search(later, "puppy") == ["Has a puppy"]
    await later.close()


async def test_vectors_of_another_embedder_are_passed_over(tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path}/memory.db"

    def flat(texts: list[str]) -> list[list[float]]:
        return [[1.0, 0.0]] * len(texts)

    await (await _with(SqlMemory(address, embedder=flat), "Has a puppy")).close()
    later = SqlMemory(address, embedder=embed_words)
    assert await _search(later, "dog") == []
    await later.close()


async def test_an_embedder_that_miscounts_is_told() -> None:
    memory = SqlMemory("memory://", embedder=lambda texts: [[1.0]])
    with pytest.raises(StoreError, match="1 vectors for 2 texts"):
        await _with(memory, "one", "two")


async def test_what_is_no_embedder_no_vector_and_no_memory_is_told() -> None:
    with pytest.raises(UsageError, match="takes a function or None as 'embedder'; got 3"):
        SqlMemory("memory://", embedder=3)  # type: ignore[arg-type]
    with pytest.raises(StoreError, match="gave 'x' instead of a vector"):
        await _with(SqlMemory("memory://", embedder=lambda _: ["x"]), "one")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"MemoryEntry\(content='…'\) values; got 'one'"):
        await SqlMemory("memory://").add(ADA, ["one"])  # type: ignore[list-item]


async def test_a_user_can_be_forgotten(address: str) -> None:
    memory = await _with(SqlMemory(address), "Has a puppy")
    bob = Scope(app_name="app", user_id="bob", session_id="s1")
    await memory.add(bob, [MemoryEntry(content="Has a puppy too")])
    await memory.forget(ADA)
    assert await _search(memory, "puppy") == []
    assert len((await memory.search(bob, "puppy")).memories) == 1
    await memory.close()


@pytest.mark.parametrize("wrong", ["", "memory", "redis://x", None, 3])
def test_a_wrong_address_is_refused_with_the_right_forms(wrong: object) -> None:
    with pytest.raises(UsageError, match=r"memory://.*sqlite:///.*postgresql://"):
        open_memory(wrong)
