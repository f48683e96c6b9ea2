"""What durable tasks must do on a database, as checks that can be run on any address."""

import json
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import anyio
import anyio.lowlevel

from toolwright.agent import Agent, Hooks
from toolwright.errors import UsageError
from toolwright.messages import (
    MessageQueued,
    ModelMessage,
    ModelReplied,
    RunStarted,
    Steered,
    TextPart,
    ToolCall,
    ToolEnded,
    UserMessage,
)
from toolwright.models import ModelRequest, OnDelta
from toolwright.tasks import NewTask, Orchestrator, Task, Worker
from toolwright.testing._checks import raises, run_checks
from toolwright.tools import (
    LongRunningFunctionTool,
    ReadonlyContext,
    Tool,
    ToolContext,
    deferred_tool,
    tool,
)

__all__ = ["TASK_CHECKS", "check_tasks"]

Turn = str | Sequence[ToolCall]
_PATIENCE = 30.0


async def check_tasks(factory: Callable[[], Orchestrator]) -> None:
    """Run every check on an orchestrator from `factory`, each on an empty database."""
    await run_checks(TASK_CHECKS, factory)


# -- running and waiting ---------------------------------------------------------------------------


async def check_a_task_runs_once_per_key(made: Orchestrator) -> None:
    """Enqueued at the same time under one key, it is one task, and it ends."""
    made.register(_agent("a", "done"))
    ids: list[str] = []

    async def enqueue() -> None:
        ids.append(await made.enqueue("a", "go", idempotency_key="invoice-7"))

    async with anyio.create_task_group() as group:
        for _ in range(5):
            group.start_soon(enqueue)
    assert len(set(ids)) == 1, ids
    async with _working(made):
        task = await made.wait(ids[0], _PATIENCE)
    assert (task.status, task.text, task.attempts) == ("COMPLETED", "done", 1), task
    assert await made.enqueue("a", "go", idempotency_key="invoice-7") == task.id
    await raises(UsageError, made.enqueue("a", "other work", idempotency_key="invoice-7"))


async def check_an_answer_may_come_before_the_task_has_parked(made: Orchestrator) -> None:
    """What the tool sets off may be quicker than the tool."""
    said: list[str] = []

    @deferred_tool(timeout=60)
    async def ask(ctx: ToolContext) -> None:
        """Ask."""
        said.append(await _answer(made, ctx.task_id or "", ctx.function_call_id, "quick"))

    made.register(_agent("a", [_call("ask")], "done", tools=[ask]))
    async with _working(made):
        task = await _run(made, "a")
    assert (task.status, said) == ("COMPLETED", ["accepted"]), (task, said)


async def check_of_many_answers_the_first_wins(made: Orchestrator) -> None:
    """Answers that race are accepted once; late ones are refused; unknown ones are said to be."""
    made.register(_agent("a", [_call("ask")], "done", tools=[_ask]))
    said: list[str] = []

    async with _working(made):
        task_id = await made.enqueue("a", "go")
        call_id = await _parked(made, task_id)

        async def answer(value: int) -> None:
            said.append(await _answer(made, task_id, call_id, value))

        async with anyio.create_task_group() as group:
            for value in range(5):
                group.start_soon(answer, value)
        await made.wait(task_id, _PATIENCE)
    assert sorted(said) == ["accepted", *["duplicate"] * 4], said
    assert await _answer(made, task_id, call_id, 9) in ("duplicate", "finished")
    assert await _answer(made, task_id, "other", 9) == "unknown"
    assert await _answer(made, "other", call_id, 9) == "unknown"


async def check_it_goes_on_when_the_last_answer_is_in(made: Orchestrator) -> None:
    """Two calls, answered at the same time: it goes on once, with both."""
    made.register(_agent("a", [_call("ask", "c1"), _call("ask", "c2")], "done", tools=[_ask]))
    async with _working(made):
        task_id = await made.enqueue("a", "go")
        await _parked(made, task_id)
        async with anyio.create_task_group() as group:
            group.start_soon(_answer, made, task_id, "c1", 1)
            group.start_soon(_answer, made, task_id, "c2", 2)
        task = await made.wait(task_id, _PATIENCE)
    assert (task.status, task.attempts) == ("COMPLETED", 2), task


async def check_a_deadline_is_told_and_closes_the_call(made: Orchestrator) -> None:
    """Nobody answers in time: the model is told, and a later answer is refused."""

    @deferred_tool(timeout=0.05)
    async def ask() -> None:
        """Ask."""

    made.register(_agent("a", [_call("ask")], "too late", tools=[ask]))
    async with _working(made):
        task = await _run(made, "a")
    assert (task.status, task.text) == ("COMPLETED", "too late"), task
    assert await _answer(made, task.id, "c1", 1) == "expired"


# -- cancelling, steering, trying again ------------------------------------------------------------


async def check_a_task_that_nobody_runs_is_cancelled_at_once(made: Orchestrator) -> None:
    """Queued or parked, it ends; its calls cannot be answered any more."""
    made.register(_agent("a", [_call("ask")], "done", tools=[_ask]))
    queued = await made.enqueue("a", "go")
    assert await made.cancel(queued)
    assert not await made.cancel(queued)
    assert (await made.status(queued)).status == "CANCELLED"
    async with _working(made):
        parked = await made.enqueue("a", "go")
        call_id = await _parked(made, parked)
        assert await made.cancel(parked)
        assert (await made.wait(parked, _PATIENCE)).status == "CANCELLED"
    assert await _answer(made, parked, call_id, 1) == "finished"
    assert not await made.pending(parked)


async def check_a_running_tool_is_stopped_when_its_task_is_cancelled(made: Orchestrator) -> None:
    """Also in the last turn, whatever the tool waits for."""
    started, stopped = anyio.Event(), anyio.Event()

    @tool
    async def hang() -> str:
        """Never ends by itself."""
        started.set()
        try:
            await anyio.sleep_forever()
        finally:
            stopped.set()
        return ""

    made.register(_agent("a", [_call("hang")], "done", tools=[hang]))
    async with _working(made):
        task_id = await made.enqueue("a", "go")
        await started.wait()
        assert await made.cancel(task_id)
        task = await made.wait(task_id, _PATIENCE)
    assert stopped.is_set()
    assert task.status == "CANCELLED", task


async def check_a_cancelled_task_tells_the_truth_when_it_is_tried_again(made: Orchestrator) -> None:
    """What waited is closed; of what was running nobody knows how far it came."""
    started = anyio.Event()

    @tool
    async def hang() -> str:
        """Never ends by itself."""
        started.set()
        await anyio.sleep_forever()
        return ""

    made.register(_agent("a", [_call("ask"), _call("hang")], "done", tools=[_ask, hang]))
    async with _working(made):
        task_id = await made.enqueue("a", "go")
        await started.wait()
        while not ((waiting := await made.pending(task_id)) and waiting[0][1].ran):
            await made.changed(0.5)
        assert await made.cancel(task_id)
        assert (await made.wait(task_id, _PATIENCE)).status == "CANCELLED"
        assert not await made.pending(task_id)
        assert await _answer(made, task_id, waiting[0][1].call_id, 1) == "finished"
        assert await made.retry(task_id)
        task = await made.wait(task_id, _PATIENCE)
    assert task.status == "COMPLETED", task
    read = await _read(made, task_id)
    assert read["ask"].startswith("No result has come for this call: cancelled."), read
    assert "outcome is unknown" in read["hang"], read


async def check_a_cancel_that_was_accepted_wins_over_the_end(made: Orchestrator) -> None:
    """Cancelled while the model writes its last words, the task does not complete."""

    async def cancel(task_id: str) -> None:
        await made.queue.request_cancel(task_id)

    made.register(_agent("a", "done", on_turn=cancel))
    async with _working(made):
        task = await _run(made, "a")
    assert task.status == "CANCELLED", task


async def check_answers_that_nobody_waits_for_are_read_whenever_they_come(
    made: Orchestrator,
) -> None:
    """While the task runs, also in its last turn, and when it has ended: each is told once."""

    def start() -> dict[str, str]:
        """Start a job."""
        return {"status": "pending"}

    async def answer(task_id: str) -> None:
        for _, pending in (await made.pending(task_id))[:1]:
            assert await _answer(made, task_id, pending.call_id, "came") == "accepted"

    jobs = [_call("start", f"c{n}") for n in range(3)]
    turns = (jobs, *["done"] * 6)
    tools = [LongRunningFunctionTool(start)]
    made.register(_agent("a", *turns, tools=tools, on_turn=_first_times(3, answer)))
    async with _working(made):
        task_id = await made.enqueue("a", "go")
        await made.wait(task_id, _PATIENCE)
        await answer(task_id)
        task = await made.wait(task_id, _PATIENCE)
    assert (task.status, await made.pending(task_id)) == ("COMPLETED", []), task
    told = [e.call_id for e in await made.stored_events(task_id) if isinstance(e, Steered)]
    assert sorted(told) == ["c0", "c1", "c2"], told


async def check_what_comes_for_a_task_that_is_being_ended_is_read(made: Orchestrator) -> None:
    """A message that a hook holds up, or a tool that has said all there is to say."""

    async def steer(ctx: ToolContext) -> None:
        task_id = ctx.session.id
        if not any(isinstance(e, MessageQueued) for e in await made.stored_events(task_id)):
            assert await made.steer(task_id, "one more thing")
        while not any(isinstance(e, MessageQueued) for e in await made.stored_events(task_id)):
            await made.changed(0.5)

    async def after_agent(ctx: ToolContext, text: str) -> None:
        await steer(ctx)

    @tool
    async def report(tool_context: ToolContext) -> str:
        """Say all there is to say."""
        await steer(tool_context)
        tool_context.actions.skip_summarization = True
        return "the report"

    hooked = Hooks(after_agent=after_agent)
    made.register(_agent("hooked", "done", "done again", hooks=hooked))
    made.register(_agent("skips", [_call("report")], "done again", tools=[report]))
    async with _working(made):
        tasks = [await _run(made, agent) for agent in ("hooked", "skips")]
    for task in tasks:
        assert (task.status, task.text) == ("COMPLETED", "done again"), task
        events = await made.stored_events(task.id)
        assert sum(isinstance(event, Steered) for event in events) == 1, task


async def check_messages_reach_a_task_wherever_it_stands(made: Orchestrator) -> None:
    """Running, parked or about to end: each message is read once; an ended task takes none."""

    async def steer(task_id: str) -> None:
        assert await made.steer(task_id, f"message {next(number)}")

    number = iter(range(1, 3))
    turns = ([_call("ask")], "done", "done again", "done at last")
    made.register(_agent("a", *turns, tools=[_ask], on_turn=_first_times(2, steer)))
    async with _working(made):
        task_id = await made.enqueue("a", "go")
        call_id = await _parked(made, task_id)
        assert await made.steer(task_id, "while parked")
        await _answer(made, task_id, call_id, "yes")
        task = await made.wait(task_id, _PATIENCE)
    events = await made.stored_events(task_id)
    read = sorted(e.message.text for e in events if isinstance(e, Steered))
    assert (task.status, read) == ("COMPLETED", ["message 1", "message 2", "while parked"]), read
    assert not await made.steer(task_id, "too late")


async def check_a_failed_task_is_tried_again(made: Orchestrator) -> None:
    """By itself as often as was said, then by hand; what was done before is not done again."""
    done: list[str] = []

    @tool
    async def pay() -> str:
        """Pay."""
        done.append("paid")
        return "paid"

    async def fail(task_id: str) -> None:
        if len(done) == 1 and (await made.status(task_id)).failures < 2:
            raise RuntimeError("the model is away")

    made.register(_agent("a", [_call("pay")], "done", tools=[pay], on_turn=fail))
    async with _working(made):
        task = await _run(made, "a", retries=1)
        assert (task.status, task.failures) == ("FAILED", 2), task
        assert "the model is away" in task.reason
        assert not await made.queue.steer(task.id, UserMessage((TextPart("x"),)))
        done.append("fixed")
        assert await made.retry(task.id)
        task = await made.wait(task.id, _PATIENCE)
    assert (task.status, task.reason, done) == ("COMPLETED", "", ["paid", "fixed"]), (task, done)
    assert not await made.retry(task.id)


async def check_a_task_that_was_cancelled_before_it_began_is_begun_by_retry(
    made: Orchestrator,
) -> None:
    """With its prompt, its state, and what was said to it; whoever cancelled it."""
    asked: list[str] = []

    def instructions(ctx: ReadonlyContext) -> str:
        asked.append(ctx.state.get("unit", "?"))
        return ""

    made.register(Agent(name="a", model=_Plan("done"), instructions=instructions))
    by_caller = await made.enqueue("a", "please pay", state={"unit": "C"})
    assert await made.steer(by_caller, "and hurry")
    assert await made.cancel(by_caller)
    by_worker = await made.enqueue("a", "please pay", state={"unit": "C"})
    await made.queue.request_cancel(by_worker)
    async with _working(made):
        assert (await made.wait(by_worker, _PATIENCE)).status == "CANCELLED"
        for task_id in (by_caller, by_worker):
            assert await made.retry(task_id)
            assert (await made.wait(task_id, _PATIENCE)).status == "COMPLETED"
            events = await made.stored_events(task_id)
            told = [event for event in events if isinstance(event, RunStarted | Steered)]
            said = [event.message.text for event in told if event.message is not None]
            assert said == ["please pay", *(["and hurry"] if task_id == by_caller else [])], events
    assert set(asked) == {"C"}, asked


# -- children --------------------------------------------------------------------------------------


async def check_a_parent_learns_how_each_child_ended(made: Orchestrator) -> None:
    """Done, failed and cancelled ones; also when they end before the parent has parked."""
    held = anyio.Event()
    hanging: list[str] = []

    async def end(task_id: str) -> None:
        prompt = await _prompt(made, task_id)
        if prompt == "fail":
            raise RuntimeError("no luck")
        if prompt == "hang":
            hanging.append(task_id)
            held.set()
            await anyio.sleep_forever()

    made.register(_agent("child", "fine", on_turn=end))
    start = ToolCall(
        call_id="c1", name="start_child_tasks", arguments='{"prompts": ["ok", "fail", "hang"]}'
    )
    made.register(_agent("parent", [start], "all ended", tools=[made.child_tasks("child")]))
    async with _working(made):
        parent_id = await made.enqueue("parent", "go", owner_id="ada")
        await held.wait()
        assert (await _moved(made, parent_id, "PENDING_CHILD_TASKS")).owner_id == "ada"
        await made.cancel(hanging[0])
        parent = await made.wait(parent_id, _PATIENCE)
    assert parent.status == "COMPLETED", parent
    events = await made.stored_events(parent_id)
    [told] = [e for e in events if e.type == "pending_answered"]  # type: ignore[attr-defined]
    ends = [(end["status"], end["text"]) for end in told.answer.value]  # type: ignore[attr-defined]
    assert ends == [
        ("COMPLETED", "fine"),
        ("FAILED", "RuntimeError: no luck"),
        ("CANCELLED", "cancelled"),
    ], ends


async def check_cancelling_a_parent_cancels_its_children(made: Orchestrator) -> None:
    """At any depth, running, waiting or queued; those that are to be left go on. No more are started."""
    running = anyio.Event()

    async def hang(task_id: str) -> None:
        if await _prompt(made, task_id) == "hang":
            running.set()
            await anyio.sleep_forever()

    def start(tool: str, *prompts: str, call_id: str = "c1") -> ToolCall:
        return ToolCall(call_id=call_id, name=tool, arguments=json.dumps({"prompts": prompts}))

    made.register(_agent("leaf", [_call("ask")], "fine", tools=[_ask], on_turn=hang))
    leave = made.child_tasks("leaf", name="leave", parent_close="abandon")
    tools = [made.child_tasks("leaf"), leave]
    calls = [start("start_leaf_tasks", "hang", "ask"), start("leave", "ask", call_id="c2")]
    made.register(_agent("middle", calls, "ended", tools=tools))
    tools = [made.child_tasks("middle")]
    made.register(_agent("top", [start("start_middle_tasks", "go")], "ended", tools=tools))
    async with _working(made):
        top = await made.enqueue("top", "go")
        await _moved(made, top, "PENDING_CHILD_TASKS")
        await running.wait()
        [middle] = await made.list(agent="middle")
        await _moved(made, middle.id, "PENDING_CHILD_TASKS")
        while len(await made.pending()) < 4:
            await made.changed(0.5)
        assert await made.cancel(top)
        ended = [await made.wait(task.id, _PATIENCE) for task in await made.list()
                 if task.status != "PENDING_TOOL_RESULTS"]  # fmt: skip
        assert [task.status for task in ended] == ["CANCELLED"] * 4, ended
        [left] = await made.list(status="PENDING_TOOL_RESULTS")
        late = NewTask(agent="leaf", prompt="late", parent_id=top, parent_call="c1")
        await raises(UsageError, made.enqueue_many([late]))
        assert await _answer(made, left.id, (await made.pending(left.id))[0][1].call_id, 1)
        assert (await made.wait(left.id, _PATIENCE)).status == "COMPLETED"


# -- the line --------------------------------------------------------------------------------------


async def check_the_line_is_kept_by_priority_and_fair_between_owners(made: Orchestrator) -> None:
    """Urgent ones first; then owners take turns, however much one of them has enqueued."""
    order: list[str] = []

    async def note(task_id: str) -> None:
        order.append((await made.status(task_id)).owner_id)

    made.register(_agent("a", "done", on_turn=note), workers=1)
    many = [NewTask(agent="a", prompt="x", owner_id="busy") for _ in range(4)]
    few = [NewTask(agent="a", prompt="x", owner_id="quiet") for _ in range(2)]
    urgent = NewTask(agent="a", prompt="x", owner_id="urgent", priority=9)
    ids = await made.enqueue_many([*many, *few, urgent])
    async with _working(made):
        for task_id in ids:
            await made.wait(task_id, _PATIENCE)
    if "exact order" in made.engine.offers:
        assert order[0] == "urgent", order
        assert sorted(order[1:5]) == ["busy", "busy", "quiet", "quiet"], order
    assert Counter(order) == {"busy": 4, "quiet": 2, "urgent": 1}, order


async def check_limits_hold_for_all_workers_together(made: Orchestrator) -> None:
    """No more of one owner at once than allowed, with two workers that both have room."""
    running, most = set[str](), 0
    seen = anyio.Event()

    async def note(task_id: str) -> None:
        nonlocal most
        running.add(task_id)
        most = max(most, len(running))
        if len(running) == 2:
            seen.set()
        await seen.wait()
        await anyio.lowlevel.checkpoint()
        running.discard(task_id)

    made.register(_agent("a", "done", on_turn=note), workers=4, per_owner=2)
    ids = await made.enqueue_many([NewTask(agent="a", prompt="x", owner_id="u") for _ in range(6)])
    async with _working(made), _working(made):
        for task_id in ids:
            await made.wait(task_id, _PATIENCE)
    assert most == 2, most


async def check_a_rate_is_kept(made: Orchestrator) -> None:
    """At most two starts in the given time, then more."""
    starts: list[float] = []

    async def note(_: str) -> None:
        starts.append(time.monotonic())

    made.register(_agent("a", "done", on_turn=note), workers=10, rate=(2, 1.0))
    ids = await made.enqueue_many([NewTask(agent="a", prompt="x") for _ in range(4)])
    async with _working(made), _working(made):
        for task_id in ids:
            await made.wait(task_id, _PATIENCE)
    assert starts[2] - starts[0] > 0.3, starts


async def check_a_scheduled_task_starts_when_it_is_time(made: Orchestrator) -> None:
    """Not before; and those behind it do not wait for it."""
    made.register(_agent("a", "done"))
    async with _working(made):
        due = time.time() + 0.3
        later = await made.enqueue("a", "x", start_at=due)
        await made.wait(await made.enqueue("a", "x"), _PATIENCE)
        task = await made.wait(later, _PATIENCE)
    [started, *_] = await made.stored_events(task.id)
    assert started.at >= due, (started.at, due)


# -- workers and versions --------------------------------------------------------------------------


async def check_a_worker_that_is_stopped_gives_its_tasks_back(made: Orchestrator) -> None:
    """Drained, it finishes them; cancelled, another goes on with them at once."""
    started = anyio.Event()
    again: list[str] = []

    async def hang_once(task_id: str) -> None:
        again.append(task_id)
        if len(again) == 1:
            started.set()
            await anyio.sleep_forever()

    made.register(_agent("a", "done", on_turn=hang_once))
    task_id = await made.enqueue("a", "x")
    async with anyio.create_task_group() as group:
        group.start_soon(made.worker().run)
        await started.wait()
        group.cancel_scope.cancel()
    assert (await made.status(task_id)).status == "QUEUED"
    async with _working(made):
        task = await made.wait(task_id, _PATIENCE)
    assert (task.status, len(again)) == ("COMPLETED", 2), task


async def check_a_worker_that_is_stopped_leaves_its_calls_as_a_crash_does(
    made: Orchestrator,
) -> None:
    """Repeated if they may be, else of unknown outcome, or asked about; a result that is brought for
    a deferred one is taken."""
    runs: Counter[str] = Counter()
    all_run = anyio.Event()

    async def hang(name: str) -> str:
        runs[name] += 1
        if runs.total() == 4:
            all_run.set()
        if runs[name] == 1:
            await anyio.sleep_forever()
        return f"{name} again"

    @tool(idempotent=True)
    async def repeat() -> str:
        """May be repeated."""
        return await hang("repeat")

    @tool
    async def once() -> str:
        """May not."""
        return await hang("once")

    @tool(on_unknown="ask")
    async def known() -> str:
        """Somebody knows what became of it."""
        return await hang("known")

    @deferred_tool()
    async def order() -> None:
        """Ordered somewhere else."""
        await hang("order")

    tools = [repeat, once, known, order]
    made.register(_agent("a", [_call(t.name) for t in tools], "done", tools=tools))
    task_id = await made.enqueue("a", "x")
    async with anyio.create_task_group() as group:
        group.start_soon(made.worker().run)
        await all_run.wait()
        group.cancel_scope.cancel()
    assert not any(isinstance(e, ToolEnded) for e in await made.stored_events(task_id))
    [(_, ordered)] = await made.pending(task_id)
    assert await _answer(made, task_id, ordered.call_id, "delivered") == "accepted"
    async with _working(made):
        asked = await _parked(made, task_id)
        assert await _answer(made, task_id, asked, "it was done") == "accepted"
        task = await made.wait(task_id, _PATIENCE)
    assert task.status == "COMPLETED", task
    read = await _read(made, task_id)
    assert "outcome is unknown" in read.pop("once"), read
    assert read == {"repeat": "repeat again", "known": "it was done", "order": "delivered"}
    assert runs == {"repeat": 2, "once": 1, "known": 1, "order": 1}


async def check_a_task_of_another_version_is_left_to_a_worker_that_can_go_on_with_it(
    made: Orchestrator,
) -> None:
    """Until there is one it stays in line; others of the same agent are not held up."""
    agent = _agent("a", [_call("ask")], "done", tools=[_ask])
    made.register(agent, version="1")
    async with _working(made):
        task_id = await made.enqueue("a", "go")
        call_id = await _parked(made, task_id)
    registered = made.agents["a"]
    made.agents["a"] = replace(registered, version="3", goes_on_from=("2",))
    assert await _answer(made, task_id, call_id, "yes") == "accepted"
    async with _working(made):
        behind = await made.enqueue("a", "go")
        await _parked(made, behind)
    assert (await made.status(behind)).version == "3"
    task = await made.status(task_id)
    assert (task.status, task.version, task.attempts) == ("QUEUED", "1", 1), task
    made.agents["a"] = replace(registered, version="2", goes_on_from=("1",))
    async with _working(made):
        task = await made.wait(task_id, _PATIENCE)
    assert (task.status, task.version) == ("COMPLETED", "2"), task


async def check_a_queue_s_tasks_are_taken_by_its_workers_alone(made: Orchestrator) -> None:
    """A worker of other queues leaves them; one of several takes the first one's first."""
    ran: list[str] = []

    async def note(task_id: str) -> None:
        ran.append(task_id)

    made.register(_agent("a", *["done"] * 9, on_turn=note), workers=1)
    special = await made.enqueue("a", "x", queue="gpu", elsewhere=True, priority=9)
    usual = await made.enqueue("a", "x")
    async with _working(made):
        await made.wait(usual, _PATIENCE)
    assert (await made.status(special)).status == "QUEUED"
    second = await made.enqueue("a", "x", priority=5)
    if "several queues" in made.engine.offers:
        async with _working(made, queues=["gpu", "default"]):
            for task_id in (special, second):
                await made.wait(task_id, _PATIENCE)
        assert ran == [usual, special, second]
    else:
        async with _working(made, queues=["gpu"]), _working(made):
            for task_id in (special, second):
                await made.wait(task_id, _PATIENCE)
        assert sorted(ran) == sorted([usual, special, second])
    assert [task.id for task in await made.list(queue="gpu")] == [special]
    await raises(UsageError, made.enqueue("a", "x", queue="gpus"))


async def check_tasks_of_one_key_run_one_at_a_time(made: Orchestrator) -> None:
    """Those of other keys, and of none, do not wait for them."""
    running: Counter[str] = Counter()
    most: Counter[str] = Counter()
    keys: dict[str, str] = {}
    both = anyio.Event()

    async def note(task_id: str) -> None:
        key = keys[task_id]
        running[key] += 1
        most[key] = max(most[key], running[key])
        if running["a"] and running["b"] and running["none"] == 2:
            both.set()
        await both.wait()
        running[key] -= 1

    made.register(_agent("w", *["done"] * 9, on_turn=note), workers=9)
    for key in ("a", "a", "a", "b", "b", "none", "none"):
        given = None if key == "none" else key
        keys[await made.enqueue("w", "x", concurrency_key=given)] = key
    async with _working(made), _working(made):
        for task_id in keys:
            assert (await made.wait(task_id, _PATIENCE)).status == "COMPLETED"
    assert (most["a"], most["b"]) == (1, 1), most


async def check_events_are_seen_live_and_from_any_point(made: Orchestrator) -> None:
    """Those who watch see each event once, in order, until the end."""
    made.register(_agent("a", [_call("ask")], "done", tools=[_ask]))
    seen: list[int] = []
    task_id = await made.enqueue("a", "go")

    async def watch() -> None:
        async for event in made.events(task_id):
            seen.append(event.seq)  # noqa: PERF401 - as they come

    async with _working(made), anyio.create_task_group() as group:
        group.start_soon(watch)
        await _answer(made, task_id, await _parked(made, task_id), "yes")
    stored = await made.stored_events(task_id)
    assert seen == [event.seq for event in stored] == list(range(1, len(stored) + 1)), seen
    replies = [e async for e in made.events(task_id, since=1) if isinstance(e, ModelReplied)]
    assert len(replies) == 2


async def check_wrong_use_is_refused(made: Orchestrator) -> None:
    """With what would be right."""
    made.register(_agent("a", "done"))
    await raises(UsageError, made.status("nothing"))
    await raises(UsageError, made.cancel("nothing"))
    await raises(UsageError, made.steer("nothing", "hello"))
    await raises(UsageError, made.retry("nothing"))


TASK_CHECKS: tuple[Callable[[Orchestrator], Awaitable[None]], ...] = (
    check_a_task_runs_once_per_key,
    check_an_answer_may_come_before_the_task_has_parked,
    check_of_many_answers_the_first_wins,
    check_it_goes_on_when_the_last_answer_is_in,
    check_a_deadline_is_told_and_closes_the_call,
    check_a_task_that_nobody_runs_is_cancelled_at_once,
    check_a_running_tool_is_stopped_when_its_task_is_cancelled,
    check_a_cancelled_task_tells_the_truth_when_it_is_tried_again,
    check_a_cancel_that_was_accepted_wins_over_the_end,
    check_answers_that_nobody_waits_for_are_read_whenever_they_come,
    check_what_comes_for_a_task_that_is_being_ended_is_read,
    check_messages_reach_a_task_wherever_it_stands,
    check_a_failed_task_is_tried_again,
    check_a_task_that_was_cancelled_before_it_began_is_begun_by_retry,
    check_a_parent_learns_how_each_child_ended,
    check_cancelling_a_parent_cancels_its_children,
    check_the_line_is_kept_by_priority_and_fair_between_owners,
    check_limits_hold_for_all_workers_together,
    check_a_rate_is_kept,
    check_a_scheduled_task_starts_when_it_is_time,
    check_a_worker_that_is_stopped_gives_its_tasks_back,
    check_a_worker_that_is_stopped_leaves_its_calls_as_a_crash_does,
    check_a_task_of_another_version_is_left_to_a_worker_that_can_go_on_with_it,
    check_a_queue_s_tasks_are_taken_by_its_workers_alone,
    check_tasks_of_one_key_run_one_at_a_time,
    check_events_are_seen_live_and_from_any_point,
    check_wrong_use_is_refused,
)


# -- what the checks are made of -------------------------------------------------------------------

OnTurn = Callable[[str], Awaitable[None]]


class _Plan:
    """A model that says the same at the same point of any conversation."""

    name = "scripted:plan"

    def __init__(self, *turns: Turn) -> None:
        self._turns = turns
        self.on_turn: OnTurn | None = None

    async def respond(self, request: ModelRequest, on_delta: OnDelta | None = None) -> ModelMessage:
        """The turn that follows on as many as the history has."""
        if self.on_turn is not None:
            await self.on_turn(request.instructions)
        done = sum(isinstance(message, ModelMessage) for message in request.history)
        turn = self._turns[min(done, len(self._turns) - 1)]
        if isinstance(turn, str):
            return ModelMessage(parts=(TextPart(turn),))
        return ModelMessage(parts=tuple(turn), finish_reason="calls")


def _agent(
    name: str,
    *turns: Turn,
    tools: Sequence[Tool] = (),
    on_turn: OnTurn | None = None,
    hooks: Hooks | None = None,
) -> Agent:
    model = _Plan(*turns)
    model.on_turn = on_turn
    # The model learns from its instructions for which task it speaks.
    return Agent(
        name=name, model=model, tools=tools, instructions=lambda ctx: ctx.session.id,
        hooks=hooks or Hooks(),
    )  # fmt: skip


def _call(name: str, call_id: str = "c1") -> ToolCall:
    return ToolCall(call_id=call_id, name=name)


@deferred_tool(timeout=60)
async def _ask() -> None:
    """Ask somebody."""


_ask = _ask.replace(spec=replace(_ask.spec, name="ask"))


def _first_times(times: int, act: OnTurn) -> OnTurn:
    left = times

    async def limited(task_id: str) -> None:
        nonlocal left
        left -= 1
        if left >= 0:
            await act(task_id)

    return limited


@asynccontextmanager
async def _working(made: Orchestrator, **settings: Any) -> AsyncIterator[Worker]:
    """A worker in this process, drained in the end."""
    worker = made.worker(**settings)
    async with anyio.create_task_group() as group:
        with anyio.fail_after(_PATIENCE):
            group.start_soon(worker.run)
            yield worker
            worker.drain()


async def _run(made: Orchestrator, agent: str, **settings: Any) -> Task:
    return await made.wait(await made.enqueue(agent, "go", **settings), _PATIENCE)


async def _answer(made: Orchestrator, task_id: str, call_id: str, value: Any) -> str:
    return await made.complete_deferred_tool(task_id=task_id, tool_call_id=call_id, result=value)


async def _parked(made: Orchestrator, task_id: str) -> str:
    """The first call that a task waits for, once it does."""
    await _moved(made, task_id, "PENDING_TOOL_RESULTS")
    return (await made.pending(task_id))[0][1].call_id


async def _moved(made: Orchestrator, task_id: str, status: str) -> Task:
    """The task, once it has this status."""
    with anyio.fail_after(_PATIENCE):
        while (task := await made.status(task_id)).status != status:
            assert not task.ended, task
            await made.changed(0.5)
        return task


async def _read(made: Orchestrator, task_id: str) -> dict[str, str]:
    """What a task's model has read of its calls, by tool."""
    ended = [e for e in await made.stored_events(task_id) if isinstance(e, ToolEnded)]
    return {event.result.name: event.result.text for event in ended}


async def _prompt(made: Orchestrator, task_id: str) -> str:
    [started, *_] = await made.stored_events(task_id)
    return started.message.text  # type: ignore[attr-defined]
