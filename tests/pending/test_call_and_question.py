"""A call that asks twice: its function, its links and its children lead to the present question."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests._postgres import new_database

from toolwright import (
    Agent,
    Approve,
    AuthConfig,
    CustomAuthScheme,
    FunctionTool,
    LongRunningFunctionTool,
    Reject,
    Runner,
    ToolContext,
    UsageError,
    deferred_tool,
    tool,
)
from toolwright.messages import PendingRequest, call_of
from toolwright.serve import Links
from toolwright.tasks import Orchestrator
from toolwright.testing import ScriptedModel, call
from toolwright.tools import Output, Tool

pytestmark = pytest.mark.anyio

STORES = [
    pytest.param("memory://", id="memory"),
    pytest.param("sqlite:///{}/s.db", id="sqlite"),
    pytest.param("postgres", marks=pytest.mark.postgres),
]
ids: list[tuple[str, str]] = []
links = Links("a secret of some length", "http://bank.example")
mailed: list[str] = []


@pytest.fixture(autouse=True)
def nothing_was_seen() -> None:
    ids.clear()
    mailed.clear()


@deferred_tool(require_confirmation=True)
async def order(tool_context: ToolContext) -> None:
    """Order."""
    ids.append((tool_context.function_call_id, tool_context.pending_id))
    mailed.append(links.answer(tool_context, {"status": "approved"}))


def start(tool_context: ToolContext) -> dict[str, str]:
    """Start."""
    ids.append((tool_context.function_call_id, tool_context.pending_id))
    return {"status": "pending"}


def wipe(tool_context: ToolContext) -> str:
    """Wipe, once a rule and the tool itself have asked."""
    if tool_context.tool_confirmation is None:
        mailed.append(links.answer(tool_context, Approve()))
        tool_context.request_confirmation(hint="Really?")
        return ""
    ids.append((tool_context.function_call_id, tool_context.pending_id))
    return "wiped"


async def confirmed(tool: Tool) -> Runner:
    model = ScriptedModel(call(tool.name), "one", "two", "three")
    runner = Runner(Agent(name="a", model=model, tools=[tool]))
    paused = await runner.run("go", session_id="s")
    assert await runner.answer("s", paused.pending[0].call_id, Approve()) == "accepted"
    await runner.resume("s")
    return runner


DEFERRED = [
    pytest.param(order, id="deferred"),
    pytest.param(LongRunningFunctionTool(start, require_confirmation=True), id="long-running"),
]


@pytest.mark.parametrize("tool", DEFERRED)
async def test_a_result_finds_its_call_by_either_id_of_a_call_that_was_confirmed(
    tool: Tool,
) -> None:
    for which in (0, 1):
        ids.clear()
        runner = await confirmed(tool)
        assert await runner.answer("s", ids[0][which], {"shipped": 7}) == "accepted"
        assert await runner.answer("s", ids[0][which], {"shipped": 8}) == "duplicate"
        done = await runner.resume("s")
        said = [m.text for m in done.history if m.kind == "user"]
        results = [r.text for m in done.history if m.kind == "tool" for r in m.results]
        assert '"shipped":7' in "".join([*said, *results]).replace(" ", "")


@pytest.mark.parametrize("tool", DEFERRED)
@pytest.mark.parametrize(
    "again",
    [Approve(), Reject(), True, False, {"kind": "approve"}],
    ids=["approve", "reject", "true", "false", "json"],
)
async def test_a_second_click_on_the_confirmation_is_never_the_result(
    tool: Tool, again: Any
) -> None:
    runner = await confirmed(tool)
    assert await runner.answer("s", ids[0][0], again) == "duplicate"
    assert [p.kind for p in await runner.pending("s")] == ["result"]


CHOICE = PendingRequest(kind="choice", payload={"options": ["red", "blue"]}, rerun=True)
NUMBER = PendingRequest(kind="input", schema={"type": "integer"}, rerun=True)
KEY = AuthConfig(auth_scheme=CustomAuthScheme(type="http", scheme="bearer"), credential_key="key")
FIRST: dict[str, tuple[Any, Any, Any]] = {
    "choice": (CHOICE, "red", "blue"),
    "input": (NUMBER, 7, 8),
    "credential": (KEY, "SECRET", "ANOTHER-SECRET"),
}
"""What a call asks first, the answer, and one that comes too late."""


@tool
async def buy(first: str, tool_context: ToolContext) -> Output:
    """Buy, once it has been told something."""
    asked = FIRST[first][0]
    if isinstance(asked, AuthConfig):
        if tool_context.get_auth_response(asked) is None:
            tool_context.request_credential(asked)
            return Output()
    elif not tool_context.answers:
        tool_context.requested = asked
        return Output()
    ids.append((tool_context.function_call_id, tool_context.pending_id))
    return Output.pending(kind="result")


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("kind", FIRST)
async def test_after_another_first_question_the_present_one_is_named_and_nothing_is_mistaken(
    kind: str, store: str, tmp_path: Path
) -> None:
    _, answer, late = FIRST[kind]
    url = new_database() if store == "postgres" else store.format(tmp_path)
    model = ScriptedModel(call("buy", first=kind), "bought")
    agent = Agent(name="a", model=model, tools=[buy])
    async with Runner(agent, store=url, credentials="memory://") as runner:
        [asked] = (await runner.run("go", session_id="s")).pending
        assert (asked.kind, asked.call_id) == (kind, call_of(asked.call_id))
        assert await runner.answer("s", asked.call_id, answer) == "accepted"
        assert await runner.answer("s", asked.call_id, ["no answer at all"]) == "duplicate"
        [waits] = (await runner.resume("s")).pending
        assert ids == [(asked.call_id, waits.call_id)]
        assert await runner.answer("s", asked.call_id, late) == "duplicate"
        assert await runner.answer("s", asked.call_id, Reject()) == "duplicate"
        with pytest.raises(UsageError, match=f"waits for the result now: answer {waits.call_id!r}"):
            await runner.answer("s", asked.call_id, {"status": "approved"})
        assert await runner.answer("s", waits.call_id, {"status": "approved"}) == "accepted"
        assert await runner.answer("s", asked.call_id, {"status": "approved"}) == "duplicate"
        done = await runner.resume("s")
        assert (done.status, done.text) == ("done", "bought")


@pytest.mark.parametrize("kind", FIRST)
async def test_nothing_is_mistaken_either_when_the_person_has_gone_on_meanwhile(kind: str) -> None:
    _, answer, late = FIRST[kind]
    model = ScriptedModel(call("buy", first=kind), "It is on its way.", "It is here.")
    agent = Agent(name="a", model=model, tools=[buy])
    runner = Runner(agent, credentials="memory://")
    [asked] = (await runner.run("go", session_id="s")).pending
    await runner.answer("s", asked.call_id, answer)
    [waits] = (await runner.resume("s")).pending
    await runner.run("Where is it?", session_id="s")
    assert await runner.answer("s", asked.call_id, late) in ("duplicate", "finished")
    with pytest.raises(UsageError, match=f"waits for the result now: answer {waits.call_id!r}"):
        await runner.answer("s", asked.call_id, {"status": "approved"})
    assert await runner.answer("s", waits.call_id, {"status": "approved"}) == "accepted"
    assert (await runner.resume("s")).text == "It is here."


@deferred_tool(require_confirmation=True)
async def tell(tool_context: ToolContext) -> None:
    """Tell, once a person has said yes and what."""
    ids.append((tool_context.function_call_id, tool_context.pending_id))
    if not [answer for _, answer in tool_context.answers if not isinstance(answer, Approve)]:
        tool_context.requested = replace(NUMBER, schema={"type": "string"})


async def test_after_a_confirmation_the_call_s_id_leads_to_whatever_is_asked_then() -> None:
    runner = await confirmed(tell)
    assert [p.kind for p in await runner.pending("s")] == ["input"]
    assert await runner.answer("s", ids[-1][0], True) == "duplicate"
    assert await runner.answer("s", ids[-1][0], "news") == "accepted"
    assert [p.kind for p in (await runner.resume("s")).pending] == ["result"]


async def test_what_is_no_yes_is_refused_while_the_confirmation_waits() -> None:
    runner = Runner(Agent(name="a", model=ScriptedModel(call("order"), "."), tools=[order]))
    paused = await runner.run("go", session_id="s")
    with pytest.raises(Exception, match="waits for a confirmation"):
        await runner.answer("s", paused.pending[0].call_id, {"shipped": 7})
    assert [p.kind for p in await runner.pending("s")] == ["confirmation"]


@pytest.mark.parametrize(
    "tool", [order, FunctionTool(wipe, require_confirmation=True)], ids=["deferred", "asks"]
)
async def test_a_link_answers_the_question_that_its_function_asks(tool: Tool) -> None:
    runner = await confirmed(tool)
    signed = links.read(mailed[0].rpartition("/")[2])
    assert signed.call_id == (await runner.pending("s"))[0].call_id
    assert await runner.answer("s", signed.call_id, signed.answer) == "accepted"
    assert (await runner.resume("s")).status == "done"


async def test_children_of_a_call_that_was_confirmed_find_their_parent(tmp_path: Path) -> None:
    async with Orchestrator(f"sqlite:///{tmp_path}/tasks.db") as made:
        writer = Agent(name="writer", model=ScriptedModel("one", "two"))
        made.register(writer)
        start = call("start_writer_tasks", prompts=["a", "b"])
        boss = Agent(
            name="boss", model=ScriptedModel(start, "all done"), tools=[made.child_tasks(writer)],
            interrupt_on={"start_writer_tasks": True},
        )  # fmt: skip
        made.register(boss)
        task = await made.enqueue("boss", "go")
        await work(made)
        ((_, pending),) = await made.pending(task)
        await made.answer(task_id=task, tool_call_id=pending.call_id, result=Approve())
        await work(made)
        assert (await made.status(task)).text == "all done"


async def work(made: Orchestrator) -> None:
    """Run what can be run now, children and what they wake included."""
    worker = made.worker()
    async with anyio.create_task_group() as group:
        group.start_soon(worker.run)
        with anyio.fail_after(20), made.bell.listen() as ear:
            while any(task.status in ("QUEUED", "ACTIVE") for task in await made.list()):
                await ear.wait(0.05)
        worker.drain()
