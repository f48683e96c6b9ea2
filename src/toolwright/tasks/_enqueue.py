"""Put tasks in line: each once per key, and owners in turn."""

import re
import time
import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, select

from toolwright._settings import near_names
from toolwright.backends.sql import Database
from toolwright.errors import UsageError
from toolwright.messages import decode_message, encode_message, exact_json, user_message
from toolwright.tasks import _statements as sql
from toolwright.tasks._schema import AGENTS, PROMPTS, QUEUES, TAGS, TASKS, TEXTS
from toolwright.tasks._task import DEFAULT_QUEUE, NewTask, refuse_large
from toolwright.tools import checked_state

__all__ = ["enqueue_in", "payload_of", "refuse_unknown", "refuse_unknown_queues"]

_KEYS_AT_ONCE = 500
_SEARCHED = 10_000
"""So many characters of a prompt can be found."""


def enqueue_in(
    connection: Connection,
    database: Database,
    tasks: Sequence[NewTask],
    *,
    here: Collection[str],
    most: int,
    queues: set[str],
) -> list[str]:
    """Add tasks; their ids, which for those that were enqueued before are the earlier ones.

    `UsageError` for an agent that is neither `here` nor known to a worker, for a prompt or a state of
    more than `most` characters, for a queue of which no worker is known, and for a key under which
    there is other work. `queues` are those that are known to be known.
    """
    payloads = [payload_of(new, most) for new in tasks]
    refuse_unknown(connection, tasks, here)
    parents = _refuse_orphans(connection, database, tasks)
    tasks = [replace(new, queue=new.queue or parents.get(new.parent_id)) for new in tasks]
    refuse_unknown_queues(connection, tasks, queues)
    places = _Places(connection)
    rows = [_row(new, places) for new in tasks]
    # By key, so that two processes that enqueue the same keys wait for each other in one order.
    rows_in_order = sorted(_first_of_each_key(rows), key=lambda row: row["idempotency_key"] or "")
    adding = database.insert(TASKS).on_conflict_do_nothing(index_elements=["idempotency_key"])
    if rows_in_order:
        connection.execute(adding, rows_in_order)
    earlier = _by_key(
        connection, [row["idempotency_key"] for row in rows if row["idempotency_key"]]
    )
    ids = [earlier.get(row["idempotency_key"], row["id"]) for row in rows]
    found = list(zip(rows, payloads, ids, strict=True))
    prompts = [{"task_id": i, **payload} for row, payload, i in found if row["id"] == i]
    if prompts:
        connection.execute(PROMPTS.insert(), prompts)
        added = {prompt["task_id"] for prompt in prompts}
        _make_findable(
            connection, {i: new for new, i in zip(tasks, ids, strict=True) if i in added}
        )
    again = [(row, payload["prompt"], i) for row, payload, i in found if row["id"] != i]
    if again:
        _refuse_other_work(connection, again)
    return ids


def _make_findable(connection: Connection, added: Mapping[str, NewTask]) -> None:
    texts = [{"task_id": task_id, "content": _words(new)} for task_id, new in added.items()]
    connection.execute(TEXTS.insert(), texts)
    tags = [{"tag": tag, "task_id": i} for i, new in added.items() for tag in set(new.tags)]
    if tags:
        connection.execute(TAGS.insert(), tags)


def _words(new: NewTask) -> str:
    """The beginning of a prompt, without what a database's index does not take."""
    said = user_message(new.prompt).text[:_SEARCHED]
    return " ".join(re.findall(r"\w{1,100}", said.encode("utf-8", "ignore").decode()))


def payload_of(new: NewTask, most: int) -> dict[str, str]:
    """Its prompt and its state, as they are stored; `UsageError` when one takes too much."""
    prompt = encode_message(user_message(new.prompt))
    state = exact_json({**checked_state(new.state, temp=False), **new.inherited})
    refuse_large("The prompt", prompt, most)
    refuse_large("The state", state, most)
    return {"prompt": prompt, "state": state}


def refuse_unknown(connection: Connection, tasks: Sequence[NewTask], here: Collection[str]) -> None:
    """Refuse names that nobody knows, unless nobody knows any: then a wrong one looks like a right one."""
    wanted = {new.agent for new in tasks if not new.elsewhere} - set(here)
    if not wanted:
        return
    known = {*connection.execute(select(AGENTS.c.name)).scalars(), *here}
    if known and (unknown := sorted(wanted - known)):
        near = near_names(unknown[0], sorted(known))
        raise UsageError(
            f"No agent {unknown[0]!r} is registered here or known to a worker"
            f"{f'; did you mean {near[0]!r}?' if near else '.'} A task whose agent is yet to come is "
            "enqueued with elsewhere=True."
        )


def refuse_unknown_queues(
    connection: Connection, tasks: Sequence[NewTask], queues: set[str]
) -> None:
    """Refuse queues that no worker has taken from, unless none is known; `queues` are not asked about."""
    wanted = {new.queue or DEFAULT_QUEUE for new in tasks if not new.elsewhere} - queues
    if not wanted:
        return
    queues.update(connection.execute(select(QUEUES.c.name)).scalars())
    if queues and (unknown := sorted(wanted - queues)):
        near = near_names(unknown[0], sorted(queues))
        raise UsageError(
            f"No worker has taken tasks from the queue {unknown[0]!r}, only from "
            f"{', '.join(map(repr, sorted(queues)))}"
            f"{f'; did you mean {near[0]!r}?' if near else '.'} A task whose workers are yet to come is "
            "enqueued with elsewhere=True."
        )


def _refuse_other_work(
    connection: Connection, again: Sequence[tuple[dict[str, Any], str, str]]
) -> None:
    """A key stands for one piece of work: the same agent, owner and prompt."""
    ids = sorted({task_id for _, _, task_id in again})
    for start in range(0, len(ids), _KEYS_AT_ONCE):
        some = ids[start : start + _KEYS_AT_ONCE]
        query = select(TASKS.c.id, TASKS.c.agent, TASKS.c.owner_id, PROMPTS.c.prompt)
        query = query.join(PROMPTS, PROMPTS.c.task_id == TASKS.c.id).where(TASKS.c.id.in_(some))
        earlier = {row.id: (row.agent, row.owner_id, row.prompt)
                   for row in connection.execute(query)}  # fmt: skip
        for row, prompt, task_id in again:
            if task_id not in earlier:
                continue
            agent, owner_id, said = earlier[task_id]
            # Read, since a version before this one has written the same otherwise.
            is_same = said == prompt or decode_message(said) == decode_message(prompt)
            if (agent, owner_id) != (row["agent"], row["owner_id"]) or not is_same:
                raise UsageError(
                    f"The idempotency key {row['idempotency_key']!r} belongs to task {task_id} of "
                    f"agent {agent!r}, which has another agent, owner or prompt; use "
                    "another key for other work."
                )


def _refuse_orphans(
    connection: Connection, database: Database, tasks: Sequence[NewTask]
) -> dict[str | None, str]:
    """Refuse children of a parent that is being cancelled: whoever cancels it would not see them. The
    queues of the parents."""
    queues: dict[str | None, str] = {}
    for parent_id in sorted({task.parent_id for task in tasks if task.parent_id is not None}):
        parent = select(TASKS.c.cancel, TASKS.c.queue).where(TASKS.c.id == parent_id)
        # Shared, so that it is cancelled before these children are added, or after.
        lock = parent if database.is_sqlite else parent.with_for_update(read=True)
        found = connection.execute(lock).first()
        if found is not None and found.cancel:
            raise UsageError(f"Task {parent_id!r} is cancelled; it starts no more tasks.")
        if found is not None:
            queues[parent_id] = found.queue
    return queues


class _Places:
    """Where the next task of each owner goes in each line."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._next: dict[tuple[str, str, int, str], int] = {}

    def take(self, new: NewTask) -> int:
        queue = new.queue or DEFAULT_QUEUE
        line = (new.agent, queue, new.priority, new.owner_id)
        if line not in self._next:
            where = {
                "agent": new.agent, "queue": queue, "priority": new.priority,
                "owner": new.owner_id,
            }  # fmt: skip
            head, last = self._connection.execute(sql.PLACES, where).one()
            self._next[line] = max(head or 0, last or 0) + 1
        place = self._next[line]
        self._next[line] = place + 1
        return place


def _row(new: NewTask, places: _Places) -> dict[str, Any]:
    now = time.time()
    return {
        "id": uuid.uuid4().hex, "agent": new.agent, "owner_id": new.owner_id, "status": "QUEUED",
        "priority": new.priority, "place": places.take(new), "start_at": new.start_at or now,
        "created_at": now, "updated_at": now, "attempts": 0, "retries": new.retries,
        "failures": 0, "cancel": False, "text": "", "reason": "", "version": "",
        "idempotency_key": new.idempotency_key, "parent_id": new.parent_id,
        "parent_call": new.parent_call, "queue": new.queue or DEFAULT_QUEUE,
        "concurrency_key": new.concurrency_key,
        "parent_close": None if new.parent_close == "cancel" else new.parent_close,
    }  # fmt: skip


def _first_of_each_key(rows: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    seen: set[str] = set()
    for row in rows:
        key = row["idempotency_key"]
        if key is None or key not in seen:
            yield row
        if key is not None:
            seen.add(key)


def _by_key(connection: Connection, keys: Sequence[str]) -> dict[str | None, str]:
    found: dict[str | None, str] = {}
    for start in range(0, len(keys), _KEYS_AT_ONCE):
        some = TASKS.c.idempotency_key.in_(keys[start : start + _KEYS_AT_ONCE])
        rows = connection.execute(select(TASKS.c.idempotency_key, TASKS.c.id).where(some))
        found.update({row[0]: row[1] for row in rows})
    return found
