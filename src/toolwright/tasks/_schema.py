"""The tables of the task queue, the same on SQLite and on Postgres."""

import re
from typing import Any

from sqlalchemy import (
    DDL,
    Boolean,
    Column,
    ColumnElement,
    Float,
    Identity,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    TextClause,
    and_,
    event,
    literal_column,
    text,
)

from toolwright.backends.sql import GONE, AnyText
from toolwright.tasks._task import DEFAULT_QUEUE, ENDED, SUSPECT

__all__ = [
    "AGENTS",
    "HAS_RUN",
    "INBOX",
    "IS_ACTIVE",
    "IS_ENDED",
    "IS_FAILED",
    "IS_KEYED",
    "IS_PROMPT",
    "IS_QUEUED",
    "IS_SUSPECT",
    "METADATA",
    "PROMPTS",
    "PRUNED",
    "QUEUES",
    "SCHEDULES",
    "TAGS",
    "TASKS",
    "TEXTS",
    "VERSION",
    "has_words",
]

VERSION = 8
"""Raise it with every change to the tables below, as that of sessions."""
METADATA = MetaData()

TASKS = Table(
    "toolwright_tasks",
    METADATA,
    Column("id", AnyText, primary_key=True),
    Column("agent", AnyText, nullable=False),
    Column("owner_id", AnyText, nullable=False),
    Column("status", Text, nullable=False),
    Column("priority", Integer, nullable=False),
    # Fair queueing: a task's place in line is one behind its owner's last, but never before the
    # head of the line; so owners take turns however much each enqueues.
    Column("place", Integer, nullable=False),
    Column("start_at", Float(53), nullable=False),
    Column("started_at", Float(53)),
    Column("created_at", Float(53), nullable=False),
    Column("updated_at", Float(53), nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("retries", Integer, nullable=False),
    Column("failures", Integer, nullable=False),
    Column("worker", Text),
    Column("cancel", Boolean, nullable=False),
    Column("text", AnyText, nullable=False),
    Column("reason", AnyText, nullable=False),
    Column("version", AnyText, nullable=False),
    Column("idempotency_key", AnyText, unique=True),
    Column("parent_id", AnyText),
    Column("parent_call", AnyText),
    Column("wake_at", Float(53)),
    Column("parent_close", Text),
    Column("crashes", Integer),
    Column("queue", AnyText, nullable=False, server_default=DEFAULT_QUEUE),
    Column("concurrency_key", AnyText),
)
"""`wake_at` is the nearest deadline of what a task waits for; `parent_close` its parent-close policy, null
for "cancel". `crashes` counts how often it was taken up since it was last settled: each time but the
last it was lost with its worker, or could not be stored."""

# Literals rather than parameters: only then can the partial indexes below be used.
IS_QUEUED: ColumnElement[bool] = TASKS.c.status == literal_column("'QUEUED'")
IS_ACTIVE: ColumnElement[bool] = TASKS.c.status == literal_column("'ACTIVE'")
IS_FAILED: ColumnElement[bool] = TASKS.c.status == literal_column("'FAILED'")
IS_ENDED: ColumnElement[bool] = TASKS.c.status.in_([literal_column(f"'{s}'") for s in ENDED])
IS_PROMPT: ColumnElement[bool] = TASKS.c.start_at <= TASKS.c.created_at
"""It was not enqueued for later: one that waits for tomorrow must not hold the head of the line."""
IS_SUSPECT: ColumnElement[bool] = TASKS.c.crashes >= literal_column(str(SUSPECT))
"""It may be what kills its workers: each runs one of these at a time, so that others do not die with it."""

IS_KEYED: ColumnElement[bool] = and_(IS_QUEUED, TASKS.c.concurrency_key.is_not(None))
HAS_RUN: ColumnElement[bool] = TASKS.c.attempts > literal_column("0")


def _index(name: str, *columns: Any, where: ColumnElement[bool] | None = None) -> Index:
    """An index of few rows where possible: it then costs little to keep."""
    return Index(f"toolwright_tasks_{name}", *columns, sqlite_where=where, postgresql_where=where)


_QUEUE = (TASKS.c.agent, TASKS.c.queue)
_index("line_of_queue", *_QUEUE, TASKS.c.priority.desc(), TASKS.c.place, where=IS_QUEUED)
_index("heads_of_queue", *_QUEUE, TASKS.c.priority, TASKS.c.place, where=and_(IS_QUEUED, IS_PROMPT))
_index(
    "turns_in_queue", *_QUEUE, TASKS.c.priority, TASKS.c.owner_id, TASKS.c.place, where=IS_QUEUED
)
# A loose scan over those who have something in line, when the ones in front are at their limit.
_index(
    "keys_in_queue", *_QUEUE, TASKS.c.priority, TASKS.c.concurrency_key, TASKS.c.place,
    where=IS_KEYED,
)  # fmt: skip
# Of those that have begun, and so may have to wait for a worker of their version.
_index("versions", TASKS.c.agent, TASKS.c.version, where=and_(IS_QUEUED, HAS_RUN))
METADATA.info[GONE] = tuple(f"toolwright_tasks_{name}" for name in ("line", "heads", "turns"))
_index("suspects", TASKS.c.agent, where=and_(IS_QUEUED, IS_SUSPECT))
_index("starts", TASKS.c.start_at, where=IS_QUEUED)
_index("held", TASKS.c.worker, where=IS_ACTIVE)
_index("active", TASKS.c.agent, TASKS.c.owner_id, TASKS.c.concurrency_key, where=IS_ACTIVE)
_index("dead", TASKS.c.updated_at, where=IS_FAILED)
_index("ended", TASKS.c.agent, TASKS.c.updated_at, where=IS_ENDED)
_index("deadlines", TASKS.c.wake_at, where=TASKS.c.wake_at.is_not(None))
_index("family", TASKS.c.parent_id, TASKS.c.parent_call, where=TASKS.c.parent_id.is_not(None))
_index("recent", TASKS.c.agent, TASKS.c.started_at)
_index("latest", TASKS.c.created_at, TASKS.c.id)
for _name in ("status", "owner_id", "agent", "queue"):
    _index(f"by_{_name}", TASKS.c[_name], TASKS.c.created_at, TASKS.c.id)

PROMPTS = Table(
    "toolwright_task_prompts",
    METADATA,
    Column("task_id", AnyText, primary_key=True),
    Column("prompt", Text, nullable=False),
    Column("state", Text, nullable=False),
)
"""Apart from the tasks: SQLite writes a row whole, and a prompt can be long."""

INBOX = Table(
    "toolwright_task_inbox",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("task_id", AnyText, nullable=False, index=True),
    Column("message", Text, nullable=False),
)
"""Messages to tasks; taken out in the transaction that stores them in the task's journal."""

PRUNED = Table(
    "toolwright_tasks_pruned",
    METADATA,
    Column("task_id", AnyText, primary_key=True),
    Column("agent", AnyText, nullable=False),
    Column("owner_id", AnyText, nullable=False),
    Column("at", Float(53), nullable=False, index=True),
)
"""Tasks that are gone, and whose sessions are about to be: whoever prunes next ends what was begun."""

SCHEDULES = Table(
    "toolwright_task_schedules",
    METADATA,
    Column("name", AnyText, primary_key=True),
    Column("agent", AnyText, nullable=False),
    Column("cron", Text, nullable=False),
    Column("timezone", Text, nullable=False),
    Column("missed", Text, nullable=False),
    Column("overlap", Text, nullable=False),
    Column("settings", Text, nullable=False),
    Column("prompt", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("next_at", Float(53), nullable=False, index=True),
    Column("last_at", Float(53)),
    Column("last_task", AnyText),
    Column("problem", AnyText),
)
"""What starts by the clock; `settings` are those of each task."""

QUEUES = Table(
    "toolwright_task_queues",
    METADATA,
    Column("name", AnyText, primary_key=True),
)
"""The queues that workers have ever taken from, besides the default one."""

AGENTS = Table(
    "toolwright_task_agents",
    METADATA,
    Column("name", AnyText, primary_key=True),
)
"""The agents that workers have ever worked for: a task of another is most likely misspelt."""

TAGS = Table(
    "toolwright_task_tags",
    METADATA,
    Column("tag", AnyText, primary_key=True),
    Column("task_id", AnyText, primary_key=True, index=True),
)

TEXTS = Table(
    "toolwright_task_texts",
    METADATA,
    Column("key", Integer, Identity(), primary_key=True),
    Column("task_id", AnyText, nullable=False, index=True),
    Column("content", Text, nullable=False),
)
"""The beginnings of prompts, in words that both full-text indexes take."""
_SQLITE = (
    "CREATE VIRTUAL TABLE toolwright_task_words USING fts5(content, "
    "content='toolwright_task_texts', content_rowid='key', "
    "tokenize='unicode61 remove_diacritics 2')",
    "CREATE TRIGGER toolwright_task_texts_added AFTER INSERT ON toolwright_task_texts BEGIN "
    "INSERT INTO toolwright_task_words(rowid, content) VALUES (new.key, new.content); END",
    "CREATE TRIGGER toolwright_task_texts_gone AFTER DELETE ON toolwright_task_texts BEGIN "
    "INSERT INTO toolwright_task_words(toolwright_task_words, rowid, content) "
    "VALUES ('delete', old.key, old.content); END",
)
_POSTGRES = (
    "ALTER TABLE toolwright_task_texts ADD COLUMN words tsvector "
    "GENERATED ALWAYS AS (to_tsvector('simple', content)) STORED",
    "CREATE INDEX toolwright_task_texts_words ON toolwright_task_texts USING gin (words)",
)
for _dialect, _statements in (("sqlite", _SQLITE), ("postgresql", _POSTGRES)):
    for _statement in _statements:
        event.listen(TEXTS, "after_create", DDL(_statement).execute_if(dialect=_dialect))

_WORDS_SQLITE = (
    "toolwright_tasks.id IN (SELECT task_id FROM toolwright_task_texts WHERE key IN "
    "(SELECT rowid FROM toolwright_task_words WHERE toolwright_task_words MATCH :words))"
)
_WORDS_POSTGRES = (
    "toolwright_tasks.id IN (SELECT task_id FROM toolwright_task_texts "
    "WHERE words @@ to_tsquery('simple', :words))"
)


def has_words(words: str, *, is_sqlite: bool) -> TextClause | None:
    """Whether a task's prompt has all these words, the last as it begins; None when there is none."""
    found = re.findall(r"\w+", words)
    if not found:
        return None
    if is_sqlite:
        wanted = " AND ".join(f'"{word}"' for word in found) + "*"
        return text(_WORDS_SQLITE).bindparams(words=wanted)
    wanted = " & ".join(f"'{word}'" for word in found) + ":*"
    return text(_WORDS_POSTGRES).bindparams(words=wanted)
