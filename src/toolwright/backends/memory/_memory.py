"""What is remembered about users, in SQLite or Postgres, found by words and by meaning."""

import json
import time
from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import Connection, Row, delete, select

from toolwright._sealed import Sealed
from toolwright.backends.memory._entries import (
    Remembered,
    from_entry,
    from_events,
    query_words,
)
from toolwright.backends.memory._schema import (
    MEMORIES,
    METADATA,
    VERSION,
    match_words,
    search_text,
)
from toolwright.backends.memory._vectors import Embedder, embed, fuse, nearest
from toolwright.backends.sql import Database
from toolwright.errors import UsageError
from toolwright.messages import Event, MemoryEntry, Scope, SearchMemoryResponse, jsonable

__all__ = ["SqlMemory"]

_CANDIDATES = 50
Ranking = list[tuple[int, float]]


class SqlMemory(Sealed):
    """Keeps memories per app and user in the database at `url`.

    Words are matched by the database's own full-text index (English stems). With an `embedder`,
    memories are also found by meaning, down to a cosine of `min_similarity`, and both rankings
    are combined. Vectors are compared one by one: meant for thousands per user, not for millions.
    """

    def __init__(
        self, url: str, *, embedder: Embedder | None = None, min_similarity: float = 0.3
    ) -> None:
        self._database = Database(url, "memory", VERSION, METADATA)
        self._embedder = embedder
        self._min_similarity = min_similarity

    async def add(self, scope: Scope, entries: Sequence[MemoryEntry]) -> None:
        """Remember these; what is already known is not added again."""
        for entry in entries:
            if not isinstance(entry, MemoryEntry):
                raise UsageError(f"Memories are MemoryEntry(content='…') values; got {entry!r}.")
        await self._add(scope, [from_entry(entry) for entry in entries if entry.content.strip()])

    async def add_events(self, scope: Scope, events: Sequence[Event]) -> None:
        """Remember what was said in these events; what was added before is not added again."""
        await self._add(scope, list(from_events(scope.session_id, events)))

    async def search(self, scope: Scope, query: str, limit: int = 10) -> SearchMemoryResponse:
        """What fits `query`, best first."""
        words = query_words(query)
        if not words or limit < 1:
            return SearchMemoryResponse()
        wanted = None
        if self._embedder is not None:
            [wanted] = await embed(self._embedder, [query])

        def work(connection: Connection) -> tuple[MemoryEntry, ...]:
            ranking = self._by_words(connection, scope, words, max(limit, _CANDIDATES))
            if wanted is not None:
                ranking = fuse(ranking, self._by_meaning(connection, scope, wanted))
            return _fetch(connection, ranking[:limit])

        return SearchMemoryResponse(memories=await self._database.read(work))

    async def forget(self, scope: Scope) -> None:
        """Forget all that is remembered about a user of an app."""
        theirs = delete(MEMORIES).where(*_is_of(scope))
        await self._database.write(lambda connection: connection.execute(theirs))

    async def close(self) -> None:
        """Let go of connections."""
        await self._database.close()

    async def _add(self, scope: Scope, remembered: Sequence[Remembered]) -> None:
        if not remembered:
            return
        vectors: Iterable[bytes | None] = [None] * len(remembered)
        if self._embedder is not None:
            vectors = await embed(self._embedder, [entry.content for _, entry in remembered])
        rows = [_row(scope, item, vec) for item, vec in zip(remembered, vectors, strict=True)]
        statement = self._database.insert(MEMORIES).on_conflict_do_nothing(
            index_elements=["app_name", "user_id", "source"]
        )
        await self._database.write(lambda connection: connection.execute(statement, rows))

    def _by_words(
        self, connection: Connection, scope: Scope, words: list[str], limit: int
    ) -> Ranking:
        is_sqlite = self._database.is_sqlite
        found = connection.execute(
            search_text(is_sqlite=is_sqlite),
            {
                "words": match_words(words, is_sqlite=is_sqlite),
                "app": scope.app_name,
                "user": scope.user_id,
                "limit": limit,
            },
        )
        return [(row.key, row.score) for row in found]

    def _by_meaning(self, connection: Connection, scope: Scope, wanted: bytes) -> Ranking:
        columns = select(MEMORIES.c.key, MEMORIES.c.vector)
        stored = connection.execute(columns.where(*_is_of(scope), MEMORIES.c.vector.is_not(None)))
        found = nearest(wanted, ((row.key, row.vector) for row in stored), self._min_similarity)
        return found[:_CANDIDATES]


def _is_of(scope: Scope) -> tuple[Any, Any]:
    return MEMORIES.c.app_name == scope.app_name, MEMORIES.c.user_id == scope.user_id


def _fetch(connection: Connection, ranking: Ranking) -> tuple[MemoryEntry, ...]:
    keys = [key for key, _ in ranking]
    rows = connection.execute(select(MEMORIES).where(MEMORIES.c.key.in_(keys)))
    by_key = {row.key: row for row in rows}
    return tuple(_entry(by_key[key], score) for key, score in ranking if key in by_key)


def _entry(row: Row[Any], score: float) -> MemoryEntry:
    return MemoryEntry(
        content=row.content,
        author=row.author,
        created_at=row.created_at,
        session_id=row.session_id,
        score=score,
        metadata=json.loads(row.metadata),
    )


def _row(scope: Scope, remembered: Remembered, vector: bytes | None) -> dict[str, Any]:
    source, entry = remembered
    return {
        "app_name": scope.app_name,
        "user_id": scope.user_id,
        "source": source,
        "session_id": entry.session_id,
        "author": entry.author,
        "content": entry.content.replace("\0", ""),
        "created_at": entry.created_at or time.time(),
        "metadata": json.dumps(jsonable(entry.metadata)),
        "vector": vector,
    }
