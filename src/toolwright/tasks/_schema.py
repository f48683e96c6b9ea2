"""The tables of the task queue, the same on SQLite and on Postgres."""

from sqlalchemy import Boolean, Column, Float, Index, Integer, MetaData, Table, Text

__all__ = ["INBOX", "METADATA", "TASKS", "VERSION", "WORKERS"]

VERSION = 1
METADATA = MetaData()

TASKS = Table(
    "toolwright_tasks",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("agent", Text, nullable=False),
    Column("owner_id", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("priority", Integer, nullable=False),
    # Fair queueing: a task's place in line is one behind its owner's last, but never behind the
    # head of the line; so owners take turns however much each enqueues.
    Column("place", Integer, nullable=False),
    Column("start_at", Float(53), nullable=False),
    Column("started_at", Float(53)),
    Column("created_at", Float(53), nullable=False),
    Column("updated_at", Float(53), nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("worker", Text),
    Column("lease_until", Float(53)),
    Column("cancel", Boolean, nullable=False),
    Column("prompt", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("version", Text, nullable=False),
    Column("idempotency_key", Text, unique=True),
    Column("parent_id", Text),
    Column("parent_call", Text),
    Column("wake_at", Float(53)),
    Index("toolwright_tasks_line", "status", "agent", "priority", "place"),
    Index("toolwright_tasks_owner", "owner_id", "status"),
    Index("toolwright_tasks_parent", "parent_id", "parent_call"),
    Index("toolwright_tasks_lease", "status", "lease_until"),
)
"""`wake_at` is the nearest deadline of what a parked task waits for."""

INBOX = Table(
    "toolwright_task_inbox",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("task_id", Text, nullable=False, index=True),
    Column("message", Text, nullable=False),
)
"""Messages to running or waiting tasks; taken out when a worker has put them in."""

WORKERS = Table(
    "toolwright_workers",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("host", Text, nullable=False),
    Column("pid", Integer, nullable=False),
    Column("seen_at", Float(53), nullable=False),
    Column("active", Integer, nullable=False),
)
