"""The table of memories, with the full-text index that SQLite or Postgres has."""

from sqlalchemy import (
    DDL,
    Column,
    Float,
    Identity,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    TextClause,
    UniqueConstraint,
    bindparam,
    event,
    text,
)

from toolwright.backends.sql import AnyText

__all__ = ["MEMORIES", "METADATA", "VERSION", "match_words", "search_text"]

VERSION = 1
"""Raise it with every change to the table below, as that of sessions."""
METADATA = MetaData()

MEMORIES = Table(
    "toolwright_memories",
    METADATA,
    Column("key", Integer, Identity(), primary_key=True),
    Column("app_name", AnyText, nullable=False),
    Column("user_id", AnyText, nullable=False),
    Column("source", AnyText, nullable=False),
    Column("session_id", AnyText),
    Column("author", AnyText, nullable=False),
    Column("content", AnyText, nullable=False),
    Column("created_at", Float(53), nullable=False),
    Column("metadata", Text, nullable=False),
    Column("vector", LargeBinary),
    UniqueConstraint("app_name", "user_id", "source"),
)

_SQLITE = (
    "CREATE VIRTUAL TABLE toolwright_memories_text USING fts5(content, "
    "content='toolwright_memories', content_rowid='key', "
    "tokenize='porter unicode61 remove_diacritics 2')",
    "CREATE TRIGGER toolwright_memories_added AFTER INSERT ON toolwright_memories BEGIN "
    "INSERT INTO toolwright_memories_text(rowid, content) VALUES (new.key, new.content); END",
    "CREATE TRIGGER toolwright_memories_gone AFTER DELETE ON toolwright_memories BEGIN "
    "INSERT INTO toolwright_memories_text(toolwright_memories_text, rowid, content) "
    "VALUES ('delete', old.key, old.content); END",
)
_POSTGRES = (
    "ALTER TABLE toolwright_memories ADD COLUMN words tsvector "
    "GENERATED ALWAYS AS (to_tsvector('english', content)) STORED",
    "CREATE INDEX toolwright_memories_words ON toolwright_memories USING gin (words)",
)
for _dialect, _statements in (("sqlite", _SQLITE), ("postgresql", _POSTGRES)):
    for _statement in _statements:
        event.listen(MEMORIES, "after_create", DDL(_statement).execute_if(dialect=_dialect))


_SEARCH_SQLITE = (
    "SELECT m.key AS key, -bm25(toolwright_memories_text) AS score "
    "FROM toolwright_memories_text JOIN toolwright_memories m "
    "ON m.key = toolwright_memories_text.rowid "
    "WHERE toolwright_memories_text MATCH :words AND m.app_name = :app AND m.user_id = :user "
    "ORDER BY score DESC, m.key DESC LIMIT :limit"
)
_SEARCH_POSTGRES = (
    "SELECT key, ts_rank_cd(words, query) AS score "
    "FROM toolwright_memories, to_tsquery('english', :words) query "
    "WHERE words @@ query AND app_name = :app AND user_id = :user "
    "ORDER BY score DESC, key DESC LIMIT :limit"
)


def search_text(*, is_sqlite: bool) -> TextClause:
    """Finds memories by `words`, best first: their key and score."""
    found = text(_SEARCH_SQLITE if is_sqlite else _SEARCH_POSTGRES)
    return found.bindparams(bindparam("app", type_=AnyText), bindparam("user", type_=AnyText))


def match_words(words: list[str], *, is_sqlite: bool) -> str:
    """Any of `words`, as the index wants it written; they are letters and digits only."""
    return (
        " OR ".join(f'"{w}"' for w in words) if is_sqlite else " | ".join(f"'{w}'" for w in words)
    )
