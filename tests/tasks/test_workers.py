"""Workers judge each other by beats, not by clocks; journals that cannot be read are kept."""

import time
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest

from toolwright import Agent, UsageError, deferred_tool, tool
from toolwright.agent import ParallelAgent, SequentialAgent
from toolwright.errors import StoreConflict, StoreError
from toolwright.messages import VERSION as CODEC
from toolwright.messages import Steered
from toolwright.tasks import Orchestrator, _task
from toolwright.tasks._roll import WorkerRoll
from toolwright.testing import ScriptedModel, call

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("tasks")]


@deferred_tool(timeout=60)
async def ask() -> None:
    """Ask somebody."""


async def test_a_clock_that_jumps_takes_no_worker_for_dead(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    roll = WorkerRoll(Orchestrator(url).store.database)
    await roll.join("a", lease=30)
    assert await roll.cross_out_dead() == 0
    now = time.time
    for jump in (3600.0, -3600.0):
        monkeypatch.setattr(time, "time", lambda jump=jump: now() + jump)
        assert await roll.cross_out_dead() == 0
    assert roll.beat_now("a")


async def test_a_worker_that_is_silent_is_crossed_out_and_learns_of_it(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    roll = WorkerRoll(Orchestrator(url).store.database)
    await roll.join("silent", lease=30)
    await roll.join("alive", lease=30)
    assert await roll.cross_out_dead() == 0
    roll.beat_now("alive")
    clock = time.monotonic
    monkeypatch.setattr(time, "monotonic", lambda: clock() + 25)
    assert await roll.cross_out_dead() == 0
    roll.beat_now("alive")
    assert await roll.cross_out_dead() == 0
    monkeypatch.setattr(time, "monotonic", lambda: clock() + 31)
    assert await roll.cross_out_dead() == 1
    assert not roll.beat_now("silent")
    assert roll.beat_now("alive")


async def test_a_task_that_is_given_up_while_others_are_given_back_is_given_back_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Orchestrator(f"sqlite:///{tmp_path}/tasks.db")
    made.register(Agent(name="a"))
    worker = made.worker()
    given_back: list[Any] = []

    async def meanwhile(name: str, but: Any, why: Any) -> None:
        given_back.append(why)
        if len(given_back) == 1:
            worker._owes, worker._given_up = True, {"late": "the database was away"}

    monkeypatch.setattr(made.queue, "give_back", meanwhile)
    worker._owes, worker._given_up = True, {"early": "the database was away"}
    while worker._owes:
        await worker._give_back()
    assert given_back == [{"early": "the database was away"}, {"late": "the database was away"}]
    await made.close()


async def test_a_worker_signs_in_under_a_name_that_no_copy_of_it_has(url: str) -> None:
    orchestrator = Orchestrator(url)
    orchestrator.register(Agent(name="a", model=ScriptedModel()))
    worker = orchestrator.worker()
    names = [worker.name]
    for _ in range(2):
        worker.drain()
        await worker.run()
        names.append(worker.name)
    assert len(set(names)) == 3
    await orchestrator.close()


async def test_tasks_of_an_owner_whose_name_was_not_measured_are_run_and_cancelled(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Orchestrator(url) as orchestrator:
        orchestrator.register(Agent(name="a", model=ScriptedModel("done")))
        with monkeypatch.context() as earlier:
            earlier.setattr(_task, "refuse_long", lambda *_: None)
            cancelled, run = [
                await orchestrator.enqueue("a", "go", owner_id="o" * 700) for _ in range(2)
            ]
        assert await orchestrator.cancel(cancelled)
        assert (await orchestrator.status(cancelled)).status == "CANCELLED"
        worker = orchestrator.worker()
        with anyio.fail_after(30):
            async with anyio.create_task_group() as group:
                group.start_soon(worker.run)
                assert (await orchestrator.wait(run)).status == "COMPLETED"
                worker.drain()


async def test_the_session_of_a_task_is_not_deleted_while_a_worker_runs_it(url: str) -> None:
    runs, may_end = anyio.Event(), anyio.Event()

    @tool
    async def work() -> str:
        """Work."""
        runs.set()
        await may_end.wait()
        return "worked"

    agent = Agent(name="a", model=ScriptedModel(call("work"), "Done."), tools=[work])
    async with Orchestrator(url) as here, Orchestrator(url) as elsewhere:
        for orchestrator in (here, elsewhere):
            orchestrator.register(agent)
        worker = here.worker()
        with anyio.fail_after(30):
            async with anyio.create_task_group() as group:
                group.start_soon(worker.run)
                task_id = await here.enqueue("a", "go")
                await runs.wait()
                for orchestrator in (here, elsewhere):
                    runner = orchestrator.agents["a"].runner
                    with pytest.raises((UsageError, StoreConflict), match="cancel it"):
                        await runner.delete(task_id)
                may_end.set()
                assert (await here.wait(task_id)).status == "COMPLETED"
                worker.drain()
        await elsewhere.agents["a"].runner.delete(task_id)
        assert await here.agents["a"].runner.sessions() == []
        assert (await here.status(task_id)).status == "COMPLETED"


async def test_a_journal_of_a_newer_version_is_refused_with_the_reason_and_kept(
    tmp_path: Path,
) -> None:
    made = Orchestrator(f"sqlite:///{tmp_path}/tasks.db")
    agent = Agent(name="a", model=ScriptedModel(call("ask"), "done"), tools=[ask])
    made.register(agent)
    worker = made.worker()
    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            group.start_soon(worker.run)
            task_id = await made.enqueue("a", "go")
            while not (waiting := await made.pending(task_id)):
                await made.changed(0.5)
            await set_version(made, CODEC, 99)
            [(_, pending)] = waiting
            await made.answer(task_id=task_id, tool_call_id=pending.call_id, result="yes")
            refused = await made.wait(task_id)
            await set_version(made, 99, CODEC)
            assert await made.retry(task_id)
            task = await made.wait(task_id)
            worker.drain()
    assert (refused.status, "version 99" in refused.reason) == ("FAILED", True)
    assert (task.status, task.text) == ("COMPLETED", "done")
    await made.close()


async def set_version(made: Orchestrator, old: int, new: int) -> None:
    """As if another version of the program had written the journal."""
    change = f"""UPDATE toolwright_events SET body = replace(body, '"v":{old},', '"v":{new},')"""
    await made.store.database.write(lambda connection: connection.exec_driver_sql(change))


async def test_a_claim_is_held_under_the_name_it_was_made_with(tmp_path: Path) -> None:
    made = Orchestrator(f"sqlite:///{tmp_path}/tasks.db")
    holders: list[str | None] = []
    model = ScriptedModel(lambda _: holders.extend(made.store.holders.values()) or "done")
    made.register(Agent(name="a", model=model))
    worker = made.worker()
    names, claim = list[str](), worker._queue.claim

    async def claim_and_be_taken_for_dead(*args: Any) -> Any:
        claims = await claim(*args)
        if claims and worker._heartbeat is not None:
            names.append(worker.name)
            await anyio.to_thread.run_sync(worker._heartbeat.stop)
            worker._stop_all()
        return claims

    worker._queue.claim = claim_and_be_taken_for_dead  # type: ignore[method-assign]
    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            group.start_soon(worker.run)
            task = await made.wait(await made.enqueue("a", "go"))
            worker.drain()
    assert worker.name not in names
    assert (task.status, holders) == ("COMPLETED", names[:1])
    await made.close()


async def test_a_task_that_is_given_up_while_others_are_given_back_is_run_all_the_same(
    tmp_path: Path,
) -> None:
    made = Orchestrator(f"sqlite:///{tmp_path}/tasks.db")
    made.register(Agent(name="a", model=ScriptedModel("done")))
    worker = made.worker()
    load, give_back = made.store.load, made.queue.give_back
    loading, giving, given_up = anyio.Event(), anyio.Event(), anyio.Event()

    async def load_once_the_worker_gives_back(scope: Any) -> Any:
        if loading.is_set():
            return await load(scope)
        loading.set()
        await giving.wait()
        raise StoreError("the connection was lost")

    async def give_back_once_the_task_is_given_up(*args: Any) -> Any:
        giving.set()
        await given_up.wait()
        return await give_back(*args)

    forget = worker._forget
    worker._forget = lambda claim: (forget(claim), given_up.set())  # type: ignore[assignment,func-returns-value]
    made.store.load = load_once_the_worker_gives_back  # type: ignore[method-assign]
    made.queue.give_back = give_back_once_the_task_is_given_up  # type: ignore[method-assign]
    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            group.start_soon(worker.run)
            task_id = await made.enqueue("a", "go")
            await loading.wait()
            # As after a claim whose acknowledgement was lost.
            worker._owes = True
            worker._alarm.set()
            assert (await made.wait(task_id)).status == "COMPLETED"
            worker.drain()
    await made.close()


async def test_an_open_call_of_a_failed_task_is_answered_and_used_when_it_is_tried_again(
    tmp_path: Path,
) -> None:
    @tool
    async def fail() -> str:
        """Fails."""
        raise ConnectionError("reset")

    read: list[str] = []
    flow = ParallelAgent(
        name="both",
        sub_agents=[
            Agent(name="asks", model=ScriptedModel(call("ask"), _noting(read)), tools=[ask]),
            Agent(
                name="fails",
                model=ScriptedModel(call("fail"), "fine"),
                tools=[fail],
                on_tool_error="raise",
            ),
        ],
    )
    made = Orchestrator(f"sqlite:///{tmp_path}/tasks.db")
    made.register(flow)
    worker = made.worker()
    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            group.start_soon(worker.run)
            task_id = await made.enqueue("both", "go")
            assert (await made.wait(task_id)).status == "FAILED"
            [(_, pending)] = await made.pending(task_id)
            said = await made.answer(task_id=task_id, tool_call_id=pending.call_id, result="yes")
            assert said == "accepted"
            assert await made.retry(task_id)
            assert (await made.wait(task_id)).status == "COMPLETED"
            worker.drain()
    assert read == ["yes"]
    await made.close()


def _noting(read: list[str]) -> Any:
    def reply(request: Any) -> str:
        read.extend(r.text for m in request.history if m.kind == "tool" for r in m.results)
        return "done"

    return reply


async def test_a_message_reaches_a_workflow_s_task_once(tmp_path: Path) -> None:
    made = Orchestrator(f"sqlite:///{tmp_path}/tasks.db")
    model = ScriptedModel(call("ask"), call("ask"), "done")
    step = Agent(name="step", model=model, tools=[ask])
    made.register(SequentialAgent(name="w", sub_agents=[step]))
    worker = made.worker()
    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            group.start_soon(worker.run)
            task_id = await made.enqueue("w", "go")
            for message in ("be quick", ""):
                while not (waiting := await made.pending(task_id)):
                    await made.changed(0.5)
                if message:
                    assert await made.steer(task_id, message)
                [(_, pending)] = waiting
                await made.answer(task_id=task_id, tool_call_id=pending.call_id, result="yes")
            task = await made.wait(task_id)
            worker.drain()
    assert (task.status, task.text) == ("COMPLETED", "done")
    read = [e.message.text for e in await made.stored_events(task_id) if isinstance(e, Steered)]
    assert read == ["be quick"]
    await made.close()
