"""The loop: turns, parallel calls, barriers, limits, hooks, errors and cancellation."""

import inspect
import itertools
from dataclasses import replace

import anyio
import pytest
from pydantic import BaseModel

from toolwright import Agent, Hooks, Limits, ModelError, Runner, ToolContext, UsageError, tool
from toolwright.agent import Compaction
from toolwright.messages import (
    Event,
    HistoryCompacted,
    ModelMessage,
    RunEnded,
    TextPart,
    ToolEnded,
    ToolMessage,
    ToolStarted,
    Usage,
    UserMessage,
    decode_event,
    encode_event,
)
from toolwright.models import ModelRequest
from toolwright.testing import ScriptedModel, call
from toolwright.tools import Args, Output, ReadonlyContext, Tool

pytestmark = pytest.mark.anyio


@tool
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def test_answers_keep_the_order_of_the_calls_whatever_finishes_first() -> None:
    second_is_done = anyio.Event()

    @tool
    async def first() -> str:
        """Waits for the second."""
        await second_is_done.wait()
        return "one"

    @tool
    async def second() -> str:
        """Finishes at once."""
        second_is_done.set()
        return "two"

    model = ScriptedModel([call("first"), call("second")], "Done.")
    with anyio.fail_after(30):
        result = await Agent(name="t", model=model, tools=[first, second]).run("go")
    message = result.history[2]
    assert isinstance(message, ToolMessage)
    assert [r.text for r in message.results] == ["one", "two"]


async def test_a_sequential_tool_runs_alone_between_the_parallel_ones() -> None:
    order: list[str] = []

    @tool
    async def side(name: str) -> str:
        """Runs beside others."""
        order.append(f"{name} in")
        await anyio.lowlevel.checkpoint()
        order.append(f"{name} out")
        return name

    alone = tool(sequential=True, name="alone")(side.func)
    turn = [
        call("side", name="a"),
        call("side", name="b"),
        call("alone", name="X"),
        call("side", name="c"),
    ]
    await Agent(name="t", model=ScriptedModel(turn, "."), tools=[side, alone]).run("go")
    assert order == ["a in", "b in", "a out", "b out", "X in", "X out", "c in", "c out"]


async def test_no_more_calls_run_at_once_than_the_limit_allows() -> None:
    running, most = 0, 0

    @tool
    async def count() -> str:
        """Counts how many run."""
        nonlocal running, most
        running += 1
        most = max(most, running)
        await anyio.lowlevel.checkpoint()
        running -= 1
        return ""

    model = ScriptedModel([call("count") for _ in range(20)], ".")
    await Agent(name="t", model=model, tools=[count], limits=Limits(concurrency=3)).run("go")
    assert most == 3


@pytest.mark.parametrize(
    ("limits", "name"),
    [(Limits(turns=2), "turns"), (Limits(tool_calls=2), "tool_calls"), (Limits(tokens=20), "tokens"),
     (Limits(cost=0.02), "cost"), (Limits(seconds=0.0), "seconds")],
)  # fmt: skip
async def test_a_limit_ends_the_run_cleanly_and_says_which(limits: Limits, name: str) -> None:
    def turn(request: ModelRequest) -> ModelMessage:
        return ModelMessage(
            parts=(call("add", a=1, b=2),), usage=Usage(input_tokens=10, cost=0.01, requests=1)
        )

    model = ScriptedModel(*[turn] * 10)
    result = await Agent(name="t", model=model, tools=[add], limits=limits).run("go")
    assert result.status == "stopped"
    assert name in result.reason
    assert isinstance(result.events[-1], RunEnded)


async def test_a_run_that_is_cancelled_invents_no_end_for_its_calls() -> None:
    started = anyio.Event()

    @tool
    async def hang() -> str:
        """Never ends."""
        started.set()
        await anyio.sleep_forever()
        return ""

    runner = Runner(
        Agent(name="t", model=ScriptedModel([call("hang"), call("hang")]), tools=[hang])
    )
    results = []

    async def run() -> None:
        results.append(await runner.run("go", session_id="s"))

    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            group.start_soon(run)
            await started.wait()
            assert runner.cancel("s")
    [result] = results
    assert (result.status, result.reason) == ("stopped", "cancelled")
    assert not [e for e in await runner.events("s") if isinstance(e, ToolEnded)]


async def test_leaving_a_stream_early_cancels_the_run() -> None:
    cancelled = anyio.Event()

    @tool
    async def hang() -> str:
        """Never ends."""
        try:
            await anyio.sleep_forever()
        finally:
            cancelled.set()
        return ""

    stream = Agent(name="t", model=ScriptedModel(call("hang")), tools=[hang]).stream("go")
    with anyio.fail_after(30):
        async for event in stream:
            if isinstance(event, ToolStarted):
                break
        await stream.aclose()  # type: ignore[attr-defined]
        await cancelled.wait()


async def test_a_stream_shows_text_calls_and_progress_as_they_come_and_all_events_round_trip() -> (
    None
):
    @tool
    async def steps() -> object:  # type: ignore[misc]
        """Three steps."""
        yield "one"
        yield "two"
        yield "three"

    model = ScriptedModel(call("steps"), "All done.")
    events: list[Event] = [
        e async for e in Agent(name="t", model=model, tools=[steps]).stream("go")
    ]
    kinds = [event.type for event in events]  # type: ignore[attr-defined]
    assert kinds == [
        "run_started", "turn_started", "call_delta", "model_replied", "tool_started",
        "tool_progress", "tool_progress", "tool_progress", "tool_ended",
        "turn_started", "text_delta", "text_delta", "model_replied", "run_ended",
    ]  # fmt: skip
    assert [decode_event(encode_event(event)) for event in events] == events
    assert [event.seq for event in events if event.seq] == list(range(1, 9))


@pytest.mark.row("004-E2")
async def test_the_final_reply_is_validated_and_asked_for_again_when_it_does_not_fit() -> None:
    class City(BaseModel):
        name: str
        people: int

    model = ScriptedModel('{"name": "Ghent"}', '```json\n{"name": "Ghent", "people": 265000}\n```')
    result = await Agent(name="t", model=model, output_schema=City).run("Ghent?")
    assert result.output == City(name="Ghent", people=265000)
    assert "people" in model.requests[1].history[-1].text  # type: ignore[union-attr]
    assert model.requests[0].output_schema == {
        "type": "object",
        "properties": {"name": {"type": "string"}, "people": {"type": "integer"}},
        "required": ["name", "people"],
    }


async def test_a_model_error_ends_the_run_and_is_recorded() -> None:
    runner = Runner(
        Agent(name="t", model=ScriptedModel(ModelError("overloaded", reason="overloaded")))
    )
    with pytest.raises(ModelError, match="overloaded"):
        await runner.run("go", session_id="s")
    ended = (await runner.events("s"))[-1]
    assert isinstance(ended, RunEnded)
    assert ended.status == "stopped"


async def test_on_tool_error_raise_ends_the_run_with_the_exception() -> None:
    @tool
    def broken() -> str:
        """Raises."""
        raise KeyError("gone")

    agent = Agent(
        name="t", model=ScriptedModel(call("broken")), tools=[broken], on_tool_error="raise"
    )
    with pytest.raises(KeyError, match="gone"):
        await agent.run("go")


async def test_hooks_see_change_and_answer() -> None:
    seen: list[str] = []

    async def before_model(ctx: ReadonlyContext, request: ModelRequest) -> ModelMessage | None:
        seen.append(f"model {len(request.history)}")
        return None

    async def before_tool(ctx: ToolContext, tool: Tool, args: Args) -> object:
        seen.append(f"tool {tool.name}")
        return {"a": args["a"] * 10, "b": args["b"]} if args["a"] < 100 else Output(text="no")

    async def after_tool(ctx: ToolContext, tool: Tool, args: Args, output: Output) -> Output:
        return Output(text=f"<{output.text}>")

    async def after_agent(ctx: ReadonlyContext, text: str) -> str:
        return text.upper()

    hooks = Hooks(
        before_model=before_model,
        before_tool=before_tool,
        after_tool=after_tool,
        after_agent=after_agent,
    )
    model = ScriptedModel([call("add", a=1, b=2), call("add", a=100, b=2)], "done")
    result = await Agent(name="t", model=model, tools=[add], hooks=hooks).run("go")
    message = result.history[2]
    assert isinstance(message, ToolMessage)
    assert [r.text for r in message.results] == ["<12>", "no"]
    assert result.text == "DONE"
    assert seen == ["model 1", "tool add", "tool add", "model 3"]


async def test_a_hook_can_answer_in_the_agents_or_the_models_place() -> None:
    async def before_agent(ctx: ReadonlyContext) -> str:
        return "closed today"

    async def before_model(ctx: ReadonlyContext, request: ModelRequest) -> ModelMessage:
        return ModelMessage(parts=(TextPart("cached"),))

    closed = Agent(name="t", model=ScriptedModel(), hooks=Hooks(before_agent=before_agent))
    cached = Agent(name="t", model=ScriptedModel(), hooks=Hooks(before_model=before_model))
    assert (await closed.run("hi")).text == "closed today"
    assert (await cached.run("hi")).text == "cached"


async def test_repeated_and_missing_call_ids_are_made_unique() -> None:
    same = call("add", a=1, b=1)
    turn = ModelMessage(
        parts=tuple(type(same)(call_id="x", name="add", arguments=same.arguments) for _ in "ab")
    )
    model = ScriptedModel(turn, turn, ".")
    result = await Agent(name="t", model=model, tools=[add]).run("go")
    ids = [e.result.call_id for e in result.events if isinstance(e, ToolEnded)]
    assert len(set(ids)) == 4


@pytest.mark.parametrize(
    ("wanted", "plain"),
    [
        ("k\u200b", "k-"),
        ("k\\u200b", "k\\u200b"),
        ("a/b~2", "a-b-2"),
        ("\u2800\ufe0f", "--"),
        ("call 1\n", "call-1-"),
        ("\u0441all", "-all"),
        ("toolu_01A.b:c|d=", "toolu_01A.b:c|d="),
    ],
)
async def test_ids_of_calls_are_what_everybody_sees(wanted: str, plain: str) -> None:
    odd = replace(call("add", a=1, b=1), call_id=wanted)
    result = await Agent(name="t", model=ScriptedModel(odd, "."), tools=[add]).run("go")
    [ended] = [event.result.call_id for event in result.events if isinstance(event, ToolEnded)]
    assert ended == plain


async def test_ids_that_differ_in_what_nobody_sees_are_told_apart() -> None:
    turn = [replace(call("add", a=1, b=1), call_id=f"k{odd}") for odd in ("\u200b", "\u200c", "-")]
    result = await Agent(name="t", model=ScriptedModel(turn, "."), tools=[add]).run("go")
    ids = [event.result.call_id for event in result.events if isinstance(event, ToolEnded)]
    assert ids == ["k-", "k-.2", "k-.3"]


async def test_compaction_keeps_calls_with_their_results_and_lasts() -> None:
    def long_turn(request: ModelRequest) -> ModelMessage:
        return ModelMessage(parts=(call("add", a=1, b=2),), usage=Usage(input_tokens=900))

    writer = ScriptedModel(*["They added numbers."] * 3)
    agent = Agent(
        name="t",
        model=ScriptedModel(long_turn, long_turn, long_turn, "Done."),
        tools=[add],
        compaction=Compaction(max_tokens=800, keep_messages=2, model=writer),
    )
    runner = Runner(agent)
    await runner.run("Add a few numbers.", session_id="s")
    history = await runner.history("s")
    assert isinstance(history[0], UserMessage)
    assert "They added numbers." in history[0].text
    for before, after in itertools.pairwise(history):
        if isinstance(after, ToolMessage):
            assert isinstance(before, ModelMessage)
            assert [c.call_id for c in before.calls] == [r.call_id for r in after.results]
    assert any(isinstance(e, HistoryCompacted) for e in await runner.events("s"))


async def test_agents_with_two_tools_of_one_name_cannot_be_built() -> None:
    with pytest.raises(UsageError, match=r"two tools named 'add'.*tool_name_prefix"):
        Agent(name="t", model=ScriptedModel(), tools=[add, add])


async def test_the_history_is_converted_once_per_message() -> None:
    converted: list[object] = []

    def convert(message: object) -> object:
        converted.append(message)
        return message

    def turn(request: ModelRequest) -> object:
        request.history.converted(convert)
        return call("add", a=1, b=2) if len(request.history) < 41 else "Done."

    await Agent(name="t", model=ScriptedModel(*[turn] * 21), tools=[add]).run("go")
    assert len(converted) == 41


async def test_the_model_is_sent_the_same_list_of_tools_while_nothing_changes() -> None:
    model = ScriptedModel(call("add", a=1, b=2), call("add", a=1, b=2), "Done.")
    await Agent(name="t", model=model, tools=[add]).run("go")
    assert model.requests[0].tools is model.requests[1].tools is model.requests[2].tools


async def test_from_the_models_turn_to_the_tools_body_there_are_at_most_seven_hops() -> None:
    frames: list[str] = []

    @tool
    async def where() -> str:
        """Looks up the stack."""
        frame = inspect.currentframe()
        while frame is not None and frame.f_code.co_name != "run_turns":
            frames.append(frame.f_code.co_qualname if hasattr(frame.f_code, "co_qualname") else "")
            frame = frame.f_back
        return ""

    await Agent(name="t", model=ScriptedModel(call("where"), "."), tools=[where]).run("go")
    assert len(frames) <= 7, frames
