"""A database of the first version of the tables, with tasks in every state, is gone on with.

The files were written by that version's own code, commit f20c27a, and dumped.
"""

import sqlite3
from pathlib import Path

import anyio
import psycopg
import pytest
from sqlalchemy import select, update
from tests._postgres import new_database

from toolwright import Agent, deferred_tool
from toolwright.backends.sql._database import _VERSIONS
from toolwright.backends.sql._schema import VERSION as SESSIONS
from toolwright.errors import StoreError
from toolwright.messages import ModelMessage, Steered, TextPart, ToolMessage
from toolwright.models import ModelRequest, OnDelta
from toolwright.tasks import Orchestrator
from toolwright.tasks._schema import VERSION

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("tasks")]
DATA = Path(__file__).parent / "data"


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def old(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a database as f20c27a has left it."""
    statements = (DATA / f"f20c27a-{request.param}.sql").read_text()
    if request.param == "sqlite":
        with sqlite3.connect(tmp_path / "tasks.db") as connection:
            connection.executescript(statements)
        connection.close()
        return f"sqlite:///{tmp_path}/tasks.db"
    url = new_database()
    with psycopg.connect(url) as connection:
        connection.execute(statements.encode())
    return url


class Model:
    """Says what it has heard."""

    name = "scripted:new"

    async def respond(self, request: ModelRequest, on_delta: OnDelta | None = None) -> ModelMessage:
        heard = [r.text for m in request.history if isinstance(m, ToolMessage) for r in m.results]
        return ModelMessage(parts=(TextPart(f"heard {heard}"),))


@deferred_tool(timeout=None)
async def ask() -> None:
    """Ask somebody."""


async def test_tasks_of_the_first_version_are_gone_on_with(old: str) -> None:
    async with Orchestrator(old) as made:
        made.register(Agent(name="a", model=Model(), tools=[ask]), version="2")
        tasks = {task.status: task for task in await made.list()}
        assert set(tasks) == {"QUEUED", "PENDING_TOOL_RESULTS", "COMPLETED", "FAILED"}
        assert [task.id for task in await made.dead_letters()] == [tasks["FAILED"].id]
        # The same work under the same key, although this version writes prompts otherwise.
        again = await made.enqueue("a", "plain", owner_id="ada", idempotency_key="plain")
        assert again == tasks["COMPLETED"].id
        worker = made.worker()
        with anyio.fail_after(30):
            async with anyio.create_task_group() as group:
                group.start_soon(worker.run)
                [(parked, pending)] = await made.pending()
                await made.answer(task_id=parked, tool_call_id=pending.call_id, result="yes")
                assert (await made.wait(parked)).text == "heard ['yes']"
                queued = await made.wait(tasks["QUEUED"].id)
                assert await made.retry(tasks["FAILED"].id)
                retried = await made.wait(tasks["FAILED"].id)
                worker.drain()
        assert [task.status for task in (queued, retried)] == ["COMPLETED"] * 2
        heard = [e for e in await made.stored_events(queued.id) if isinstance(e, Steered)]
        assert [event.message.text for event in heard] == ["be quick"]
        assert await made.prune(0) == 4
        read = select(_VERSIONS.c.component, _VERSIONS.c.version)
        found = await made.store.database.read(lambda c: [tuple(row) for row in c.execute(read)])
        assert dict(found) == {"sessions": SESSIONS, "tasks": VERSION}


async def test_a_program_refuses_tables_of_a_later_version(old: str) -> None:
    async with Orchestrator(old) as made:
        await made.list()
        later = update(_VERSIONS).where(_VERSIONS.c.component == "tasks")
        change = later.values(version=VERSION + 1)
        await made.store.database.write(lambda connection: connection.execute(change))
    async with Orchestrator(old) as made:
        with pytest.raises(StoreError, match=f"have version {VERSION + 1}; .* up to {VERSION}"):
            await made.list()
