"""A workflow that has stopped at a function tries it again when it may, and never what may be done."""

import threading
from collections.abc import Callable
from datetime import UTC
from pathlib import Path
from typing import Any

import anyio
import pytest

from toolwright import Approve, FunctionTool, Reject, Runner, ToolContext, deferred_tool
from toolwright.agent import START, Workflow
from toolwright.errors import StoreError, ToolError
from toolwright.tasks import Orchestrator

pytestmark = pytest.mark.anyio


class Step:
    """A function that fails as often as it is told, and then does what it should."""

    def __init__(self, failures: int) -> None:
        self.attempts: list[int] = []
        self._failures = failures

    def fetch(self, text: str, tool_context: ToolContext) -> str:
        """Fetch."""
        self.attempts.append(tool_context.attempt_count)
        if len(self.attempts) <= self._failures:
            raise ConnectionError("reset")
        return f"fetched {text}"


def last(value: str) -> str:
    """The last step."""
    return f"last: {value}"


def flow_of(first: Any, **settings: Any) -> Workflow:
    nodes = {"first": first, "last": last}
    return Workflow(name="w", nodes=nodes, edges=[(START, "first"), ("first", "last")], **settings)


async def test_a_task_that_is_tried_again_runs_the_function_at_which_it_stopped(
    tmp_path: Path,
) -> None:
    step = Step(failures=1)
    made = Orchestrator(f"sqlite:///{tmp_path}/tasks.db")
    made.register(flow_of(step.fetch))
    worker = made.worker()
    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            group.start_soon(worker.run)
            task_id = await made.enqueue("w", "it")
            failed = await made.wait(task_id)
            assert (failed.status, failed.reason) == ("FAILED", "ConnectionError: reset")
            assert await made.retry(task_id)
            done = await made.wait(task_id)
            worker.drain()
    assert (done.status, done.text) == ("COMPLETED", "last: fetched it")
    assert step.attempts == [1, 2]
    await made.close()


async def test_each_time_a_task_goes_on_the_step_has_all_its_retries() -> None:
    step = Step(failures=5)
    runner = Runner(flow_of(step.fetch, retries=1))
    assert (await runner.run("it", session_id="s")).status == "stopped"
    assert step.attempts == [1, 2]
    assert (await runner.resume("s", task_id="t")).status == "stopped"
    assert step.attempts == [1, 2, 3, 4]
    assert (await runner.resume("s", task_id="t")).text == "last: fetched it"
    assert step.attempts == [1, 2, 3, 4, 5, 6]
    assert (await runner.resume("s", task_id="t")).text == "last: fetched it"
    assert len(step.attempts) == 6


@pytest.mark.parametrize("settings", [{"effects": "read"}, {"idempotent": True}])
async def test_resuming_a_session_tries_what_may_be_repeated(settings: dict[str, Any]) -> None:
    step = Step(failures=1)
    runner = Runner(flow_of(FunctionTool(step.fetch, **settings)))
    assert (await runner.run("it", session_id="s")).status == "stopped"
    assert (await runner.resume("s")).text == "last: fetched it"
    assert step.attempts == [1, 2]


async def test_resuming_a_session_does_not_repeat_what_may_have_had_its_effect() -> None:
    step = Step(failures=1)
    runner = Runner(flow_of(step.fetch))
    for go in (lambda: runner.run("it", session_id="s"), lambda: runner.resume("s")):
        result = await go()
        assert (result.status, result.reason) == ("stopped", "ConnectionError: reset")
    assert step.attempts == [1]


async def test_a_step_that_pauses_between_its_attempts_has_no_more_of_them() -> None:
    step = Step(failures=9)
    runner = Runner(flow_of(FunctionTool(step.fetch, require_confirmation=True), retries=1))
    result = await runner.run("it", session_id="s")
    for _ in range(2):
        [pending] = result.pending
        assert await runner.answer("s", pending.call_id, Approve()) == "accepted"
        result = await runner.resume("s", task_id="t")
    assert (result.status, step.attempts) == ("stopped", [1, 2])


async def test_a_step_that_a_person_rejected_is_not_asked_about_again() -> None:
    step = Step(failures=0)
    runner = Runner(flow_of(FunctionTool(step.fetch, require_confirmation=True), retries=2))
    [pending] = (await runner.run("it", session_id="s")).pending
    await runner.answer("s", pending.call_id, Reject(reason="no"))
    for _ in range(2):
        result = await runner.resume("s", task_id="t")
        assert (result.status, result.pending) == ("stopped", ())
        assert "Reason: no" in result.reason
    assert step.attempts == []


async def test_a_step_whose_outcome_is_unknown_is_not_run_again_by_retries() -> None:
    ran: list[int] = []

    async def pay(text: str) -> str:
        """Pay."""
        ran.append(1)
        raise StoreError("the process died here")

    runner = Runner(flow_of(pay, retries=2))
    assert (await runner.run("it", session_id="s")).status != "done"
    for _ in range(2):
        result = await runner.resume("s", task_id="t")
        assert result.status == "stopped"
        assert "outcome is unknown" in result.reason
    assert ran == [1]


@pytest.mark.parametrize(
    ("settings", "ends"), [({}, "stopped"), ({"idempotent": True}, "done")], ids=["once", "again"]
)
async def test_a_step_that_was_cancelled_is_repeated_only_if_it_may_be(
    settings: dict[str, Any], ends: str
) -> None:
    ran: list[int] = []

    async def pay(text: str) -> str:
        """Pay."""
        ran.append(1)
        if len(ran) == 1:
            runner.cancel("s")
            await anyio.sleep_forever()
        return "paid"

    runner = Runner(flow_of(FunctionTool(pay, **settings)))
    assert (await runner.run("it", session_id="s")).status == "stopped"
    assert (await runner.resume("s", task_id="t")).status == ends
    assert len(ran) == (2 if ends == "done" else 1)


async def test_a_function_whose_value_cannot_be_stored_is_not_run_again() -> None:
    ran: list[int] = []

    def make(text: str) -> Callable[[], object]:
        """Give something that nothing can store."""
        ran.append(1)
        return lambda: UTC

    runner = Runner(flow_of(make, retries=2))
    for go in (lambda: runner.run("it", session_id="s"), lambda: runner.resume("s", task_id="t")):
        result = await go()
        assert result.status == "stopped"
        assert result.reason.endswith("The function has run, and is not run again.")
    assert ran == [1]


@pytest.mark.parametrize("address", ["memory://", "sqlite:///{}/a.db"], ids=["memory", "sqlite"])
async def test_a_result_that_was_accepted_before_the_function_failed_is_used(
    address: str, tmp_path: Path
) -> None:
    ran: list[int] = []

    @deferred_tool()
    async def order(tool_context: ToolContext) -> None:
        """Order."""
        ran.append(1)
        assert await runner.answer("s", tool_context.pending_id, "early") == "accepted"
        raise ConnectionError("reset")

    async with Runner(flow_of(order, retries=2), store=address.format(tmp_path)) as runner:
        result = await runner.run("it", session_id="s")
        assert (result.status, result.text) == ("done", "last: early")
        events = await runner.events("s")
        assert (await runner.resume("s")).text == "last: early"
        assert await runner.events("s") == events
        assert await runner.store.open_calls(runner.app_name, "s") == []
    assert ran == [1]


class Late:
    """Functions that are given up in the middle, each in its own way."""

    def __init__(self) -> None:
        self.begun = 0
        self.may_end = threading.Event()

    async def awaits(self, text: str) -> None:
        """Wait in the loop."""
        self.begun += 1
        await anyio.sleep_forever()

    def blocks(self, text: str) -> str:
        """Wait in a thread, which goes on."""
        self.begun += 1
        self.may_end.wait(20)
        return "done all the same"

    async def tells(self, text: str) -> str:
        """Give up by itself."""
        self.begun += 1
        raise ToolError("There was no answer.", outcome_unknown=True)

    async def waits_for_a_thread(self, text: str, tool_context: ToolContext) -> None:
        """Is given up before it was run."""
        self.begun += 1
        tool_context.abandon(started=False)
        await anyio.sleep_forever()


@pytest.mark.parametrize("store", ["memory", "sqlite"])
@pytest.mark.parametrize("idempotent", [False, True])
@pytest.mark.parametrize("name", ["awaits", "blocks", "tells", "waits_for_a_thread"])
async def test_a_step_that_was_given_up_in_the_middle_is_repeated_only_if_it_may_be(
    name: str, idempotent: bool, store: str, tmp_path: Path
) -> None:
    late, url = Late(), "memory://" if store == "memory" else f"sqlite:///{tmp_path}/s.db"
    node = FunctionTool(func=getattr(late, name), timeout=0.02, idempotent=idempotent)
    try:
        async with Runner(flow_of(node, retries=1), store=url) as runner:
            for _ in range(2):  # as a task that is tried again does
                result = await runner.begin_or_resume(
                    "go", user_id="ada", session_id="s", task_id="t"
                )
                assert result.status == "stopped"
    finally:
        late.may_end.set()
    assert late.begun == (4 if idempotent or name == "waits_for_a_thread" else 1)
