"""Tasks are found by status, owner, agent, tag, time and text, page by page, with an index behind each."""

import time
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event, update

from toolwright import UsageError
from toolwright.tasks import NewTask, Orchestrator
from toolwright.tasks._schema import TASKS, TEXTS

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("tasks")]
PROMPTS = [
    "Pay Zo\u00eb's invoice 77",
    "pay bob",
    "write\x00 a letter \ud800",
    "!!!",
    'Pay "ada" & co',
]


async def enqueue(made: Orchestrator) -> list[str]:
    """One task per prompt, a second apart, the first the oldest."""
    new = [
        NewTask(agent="ab"[n % 2], prompt=prompt, owner_id="uv"[n // 3], tags=["all", f"t{n}"])
        for n, prompt in enumerate(PROMPTS)
    ]
    ids = list(await made.enqueue_many(new))
    for n, task_id in enumerate(ids):
        later = update(TASKS).where(TASKS.c.id == task_id).values(created_at=1000.0 + n)
        await made.store.database.write(lambda c, later=later: c.execute(later))
    return ids


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({}, [4, 3, 2, 1, 0]),
        ({"agent": "a"}, [4, 2, 0]),
        ({"owner_id": "v"}, [4, 3]),
        ({"status": "CANCELLED"}, [1]),
        ({"tag": "t2"}, [2]),
        ({"tag": "all", "agent": "b"}, [3, 1]),
        ({"tag": "t"}, []),
        ({"text": "pay"}, [4, 1, 0]),
        ({"text": "invoice pay"}, [0]),
        ({"text": "INV"}, [0]),
        ({"text": "77 inv"}, [0]),
        ({"text": "in pay"}, []),
        ({"text": "pay 'OR' *"}, []),
        ({"text": "!?"}, []),
        ({"text": "letter"}, [2]),
        ({"since": 1001.0, "until": 1003.0}, [2, 1]),
    ],
    ids=lambda value: "-".join(map(str, value.values())) if isinstance(value, dict) else "",
)
async def test_a_search_finds_what_has_all_that_was_given(
    url: str, wanted: dict[str, Any], found: list[int]
) -> None:
    async with Orchestrator(url) as made:
        ids = await enqueue(made)
        await made.cancel(ids[1])
        assert [ids.index(task.id) for task in await made.list(**wanted)] == found


async def test_pages_follow_on_each_other_also_when_tasks_were_enqueued_at_once(url: str) -> None:
    async with Orchestrator(url) as made:
        ids = await enqueue(made)
        at_once = update(TASKS).values(created_at=5.0)
        await made.store.database.write(lambda connection: connection.execute(at_once))
        pages, after = list[str](), None
        while page := await made.list(limit=2, after=after):
            assert len(page) <= 2
            after = page[-1].id
            pages += [task.id for task in page]
        assert pages == sorted(ids, reverse=True)
        with pytest.raises(UsageError, match="no task 'gone'"):
            await made.list(after="gone")


async def test_a_task_that_was_pruned_is_not_found_by_its_text_any_more(url: str) -> None:
    async with Orchestrator(url) as made:
        ids = await enqueue(made)
        await made.cancel(ids[0])
        assert await made.prune(0) == 1
        assert [task.id for task in await made.list(text="pay")] == [ids[4], ids[1]]
        left = await made.store.database.read(lambda c: c.execute(TEXTS.select()).all())
        assert ids[0] not in [row.task_id for row in left]


async def test_every_filter_has_an_index(tmp_path: Path) -> None:
    async with Orchestrator(f"sqlite:///{tmp_path}/tasks.db") as made:
        await enqueue(made)
        plans = dict[str, str]()

        def plan(connection: Any, _cursor: Any, query: str, values: Any, *_: Any) -> None:
            if query.startswith("SELECT toolwright_tasks.id") and "LIMIT" in query:
                asked = connection.connection.driver_connection.execute(
                    f"EXPLAIN QUERY PLAN {query}", values
                )
                plans[wanted] = " | ".join(row[3] for row in asked.fetchall())

        reader, _ = made.store.database._opened()
        event.listen(reader, "before_cursor_execute", plan)
        for wanted, value in {
            "status": "ACTIVE", "owner_id": "u", "agent": "a", "tag": "t1", "text": "pay",
            "since": time.time(), "until": 9.0,
        }.items():  # fmt: skip
            await made.list(**{wanted: value})  # type: ignore[arg-type]
        assert len(plans) == 7
        for wanted, said in plans.items():
            assert "SCAN toolwright_tasks" not in said.replace("USING INDEX", ""), (wanted, said)


def test_tags_are_texts() -> None:
    with pytest.raises(UsageError, match="tags takes a list"):
        NewTask(agent="a", prompt="go", tags="red")
    for wrong in ([""], ["x"] * 21):
        with pytest.raises(UsageError, match="tags are up to 20 texts that are not empty"):
            NewTask(agent="a", prompt="go", tags=wrong)
