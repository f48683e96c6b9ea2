"""An answer is what it was sent as, for the question it was given to, in any process."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from toolwright import (
    Agent,
    AgentTool,
    Approve,
    BlobPart,
    Reject,
    Result,
    Runner,
    ToolContext,
    UsageError,
    deferred_tool,
    tool,
)
from toolwright.backends import Hold, MemoryStore
from toolwright.errors import StoreError
from toolwright.messages import Event, Given, PendingChanged, Scope
from toolwright.testing import ScriptedModel, call
from toolwright.tools import Output

pytestmark = pytest.mark.anyio


@deferred_tool()
def order(item: str) -> str:
    """Order something; the shop tells us when it has come."""
    return "ordered"


def runner_with(*script: Any, tools: Sequence[Any] = (order,), store: Any = "memory://") -> Runner:
    return Runner(Agent(name="shop", model=ScriptedModel(*script), tools=tools), store=store)


def results(done: Result) -> list[Any]:
    return [r for m in done.history if m.kind == "tool" for r in m.results]


LOOKALIKES = [
    {"kind": "approve", "amount": 3},
    {"kind": "approve"},
    {"kind": "reject", "reason": "none"},
    {"kind": "given", "value": 1},
    {"kind": "signed_in", "key": "x"},
    [{"kind": "reject"}],
]


@pytest.mark.parametrize("value", LOOKALIKES)
async def test_a_result_that_looks_like_an_answer_is_a_result(value: Any, tmp_path: Path) -> None:
    runner = runner_with(call("order", item="lamp"), "Ok.", store=f"sqlite:///{tmp_path}/s.db")
    paused = await runner.run("go", session_id="s")
    assert await runner.answer("s", paused.pending[0].call_id, value) == "accepted"
    done = await runner.resume("s")
    assert (done.status, results(done)[0].status) == ("done", "ok")
    again = await runner.resume("s")
    assert again.text == "Ok."
    await runner.close()


async def test_a_deferred_result_may_have_a_display_and_data(tmp_path: Path) -> None:
    picture = BlobPart(media_type="image/png", data=b"\x89PNG\xff\x00")
    answers = [
        ("2 rows", {"rows": [1, 2]}),
        Output(text="broken", data={"code": 7}, status="error"),
        picture,
    ]
    for number, answer in enumerate(answers):
        store = f"sqlite:///{tmp_path}/{number}.db"
        runner = runner_with(call("order", item="lamp"), "Ok.", store=store)
        paused = await runner.run("go", session_id="s")
        await runner.answer("s", paused.pending[0].call_id, answer)
        [result] = results(await runner.resume("s"))
        match number:
            case 0:
                assert (result.text, result.data) == ("2 rows", {"rows": [1, 2]})
            case 1:
                assert (result.status, result.text, result.data) == ("error", "broken", {"code": 7})
            case _:
                assert picture in result.content
        await runner.close()


async def test_a_rejected_deferred_call_is_not_said_to_have_never_run() -> None:
    runner = runner_with(call("order", item="lamp"), "Pity.")
    paused = await runner.run("go", session_id="s")
    await runner.answer("s", paused.pending[0].call_id, Reject(reason="sold out"))
    [result] = results(await runner.resume("s"))
    assert "not run" not in result.text
    assert "sold out" in result.text


async def test_an_approval_is_no_result_and_a_value_is_no_approval() -> None:
    @tool(require_confirmation=True)
    def wipe() -> str:
        """Wipe."""
        raise AssertionError("must not run")

    runner = runner_with([call("order", item="lamp"), call("wipe")], tools=[order, wipe])
    paused = await runner.run("go", session_id="s")
    ids = {pending.name: pending.call_id for pending in paused.pending}
    with pytest.raises(UsageError, match="an approval is not"):
        await runner.answer("s", ids["order"], Approve())
    unclear = [
        {"approved": True},
        {"kind": "approve", "x": 1},
        {"kind": "approve", "reason": "no"},
        {"kind": "reject", "arguments": {}},
        {"kind": "Approve"},
        {"kind": ["approve"]},
        Given(value=True),
    ]
    for value in (None, 0, 1, "yes", "", [], {}, *unclear):
        with pytest.raises(UsageError, match="waits for a confirmation"):
            await runner.answer("s", ids["wipe"], value)
    assert len(await runner.pending("s")) == 2


async def test_a_tool_that_asks_twice_gets_each_answer_for_its_own_question(tmp_path: Path) -> None:
    @tool
    def move(tool_context: ToolContext) -> Output:
        """Move something, asking for both ends."""
        known = {asked.hint: answer for asked, answer in tool_context.answers}
        for question in ("From where?", "To where?"):
            if question not in known:
                return Output.pending(kind="input", hint=question, rerun=True)
        source, target = known["From where?"], known["To where?"]
        return Output(text=f"moved from {source.value} to {target.value}")  # type: ignore[union-attr]

    address = f"sqlite:///{tmp_path}/s.db"
    model = ScriptedModel(call("move"), "Done.")

    def another_process() -> Runner:
        return Runner(Agent(name="m", model=model, tools=[move]), store=address)

    first = another_process()
    paused = await first.run("go", session_id="s")
    await first.answer("s", paused.pending[0].call_id, "SOURCE")
    await first.close()
    second = another_process()
    paused = await second.resume("s")
    assert paused.pending[0].hint == "To where?"
    await second.answer("s", paused.pending[0].call_id, "TARGET")
    await second.close()
    third = another_process()
    [result] = results(await third.resume("s"))
    assert result.text == "moved from SOURCE to TARGET"
    await third.close()


class DyingStore(MemoryStore):
    """Refuses everything from the moment that a function of a deferred tool returns."""

    dead = False

    async def append(
        self, scope: Scope, events: Sequence[Event], hold: Hold | None = None, **settings: Any
    ) -> None:
        self.dead = self.dead or any(isinstance(event, PendingChanged) for event in events)
        if self.dead:
            raise StoreError("the process is dead")
        await super().append(scope, events, hold, **settings)


async def interrupted(runs: list[str], **settings: Any) -> tuple[Runner, DyingStore]:
    """A session whose process died after a deferred function began, before it was said to return."""

    @deferred_tool(**settings)
    def send() -> str:
        """Send a mail; the answer comes by another."""
        runs.append("sent")
        return "sent"

    store = DyingStore()
    model = ScriptedModel(call("send"), "Done.", "And more.")
    agent = Agent(name="m", model=model, tools=[send])
    with pytest.raises(StoreError):
        await Runner(agent, store=store, retry_writes=0).run("go", session_id="s")
    store.dead = False
    return Runner(agent, store=store), store


async def test_an_interrupted_deferred_tool_is_repeated_if_it_says_it_may_be() -> None:
    runs: list[str] = []
    runner, _ = await interrupted(runs, idempotent=True)
    with pytest.raises(StoreError):  # The store dies at the same moment again, and revives.
        await Runner(runner.agent, store=runner.store, retry_writes=0).resume("s")
    assert runs == ["sent", "sent"]
    assert len(await runner.pending("s")) == 1


async def test_an_interrupted_deferred_tool_is_told_as_unknown_and_its_late_result_still_comes() -> (
    None
):
    runs: list[str] = []
    runner, store = await interrupted(runs)
    type(store).append, before = MemoryStore.append, DyingStore.append  # type: ignore[method-assign]
    try:
        done = await runner.resume("s")
        assert (done.text, runs) == ("Done.", ["sent"])
        assert "outcome is unknown" in results(done)[0].text
        [late] = await runner.pending("s")
        assert await runner.answer("s", late.call_id, "they answered") == "accepted"
        assert (await runner.resume("s")).text == "And more."
    finally:
        DyingStore.append = before  # type: ignore[method-assign]


async def test_an_interrupted_deferred_tool_may_ask_a_person_for_its_outcome() -> None:
    runs: list[str] = []
    runner, store = await interrupted(runs, on_unknown="ask")
    type(store).append, before = MemoryStore.append, DyingStore.append  # type: ignore[method-assign]
    try:
        paused = await runner.resume("s")
        assert (paused.status, runs) == ("paused", ["sent"])
        assert "interrupted" in paused.pending[0].hint
        await runner.answer("s", paused.pending[0].call_id, "it was sent")
        assert results(await runner.resume("s"))[0].text == "it was sent"
    finally:
        DyingStore.append = before  # type: ignore[method-assign]


async def test_a_deferred_call_inside_a_sub_agent_outlives_a_message_too() -> None:
    sub = Agent(
        name="buyer",
        description="Buys.",
        model=ScriptedModel(call("order", item="x"), "."),
        tools=[order],
    )
    model = ScriptedModel(call("buyer", request="buy"), "Meanwhile.", "It came.")
    runner = Runner(Agent(name="top", model=model, tools=[AgentTool(sub)]))
    await runner.run("go", session_id="s")
    done = await runner.run("How are you?", session_id="s")
    assert done.text == "Meanwhile."
    assert "order" in results(done)[0].text
    [late] = await runner.pending("s")
    assert await runner.answer("s", late.call_id, "delivered") == "accepted"
    told = await runner.resume("s")
    assert told.text == "It came."
    assert "delivered" in [m.text for m in told.history if m.kind == "user"][-1]


@pytest.mark.parametrize("gated", [False, True])
async def test_a_message_is_not_lost_when_one_of_two_calls_inside_an_agent_is_answered(
    gated: bool,
) -> None:
    @tool(require_confirmation=True)
    def wipe(item: str) -> str:
        """Wipe."""
        return "wiped"

    name = "wipe" if gated else "order"
    inner = ScriptedModel([call(name, item="a"), call(name, item="b")], "Inner is done.")
    sub = Agent(name="sub", description="s", model=inner, tools=[order, wipe])
    model = ScriptedModel(call("sub", request="x"), "I have stopped.")
    runner = Runner(Agent(name="top", model=model, tools=[AgentTool(sub)]))
    paused = await runner.run("first", session_id="s")
    answer: Any = True if gated else "came"
    await runner.answer("s", paused.pending[1].call_id, answer)
    done = await runner.run("STOP", session_id="s")
    assert (done.status, done.text) == ("done", "I have stopped.")
    assert "STOP" in [m.text for m in done.history if m.kind == "user"]
    assert "STOP" in [m.text for m in model.requests[-1].history if m.kind == "user"]
    told = inner.requests[-1].history[-1].results  # type: ignore[union-attr]
    left = "was not run" if gated else "still running elsewhere"
    assert left in told[0].text
    assert told[1].text == ("wiped" if gated else "came")


async def test_answers_to_calls_that_do_not_wait_are_an_error_that_names_those_that_do() -> None:
    agent = Agent(name="a", model=ScriptedModel(call("order", item="x"), "."), tools=[order])
    paused = await agent.run("go")
    with pytest.raises(UsageError, match=rf"waiting: .*{paused.pending[0].call_id}"):
        await agent.resume(paused, {"nothing": 1})
