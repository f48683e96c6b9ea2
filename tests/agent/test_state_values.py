"""What state may hold: JSON values, given back by the store as they were; all else is refused."""

import collections
import datetime
import enum
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from toolwright import Agent, Runner, ToolContext, UsageError, tool
from toolwright.agent import SequentialAgent, Workflow
from toolwright.tasks import Orchestrator
from toolwright.testing import ScriptedModel, call

pytestmark = pytest.mark.anyio


class City(BaseModel):
    name: str


class Mode(enum.StrEnum):
    FAST = "fast"


def nested(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels):
        value = [value]
    return value


REFUSED = [
    ({1, 2}, "a set"),
    ((1, 2), "a tuple"),
    (b"x", "a bytes"),
    (float("nan"), "nan"),
    (float("inf"), "inf"),
    (object(), "a object"),
    (City(name="Ghent"), "a City"),
    (datetime.date(2026, 1, 1), "a date"),
    ({1: "x"}, "the key 1 of type int"),
    ([10**5000], "a number so long"),
    (nested(300), "more than 200 levels"),
    ({"a": [0, {"b": {1}}]}, r"a set at \['a'\]\[1\]\['b'\]"),
]
KEPT = [
    "\ud83d",
    "\ud83d\ude00",
    "\U0001f600",
    "\ud83d\x1a\ude00",
    "\ud83d\x1a\x1a\ude00\ud83d\ude00\x1a",
    "\ude00\ud83d",
    "\0",
    {"\ud83d\ude00": ["\udc80", None, {}]},
    [1.5, -0.0, 2**70, True, None],
    nested(150),
    Mode.FAST,
    collections.OrderedDict(b=1, a=[2]),
    collections.defaultdict(list, x=[1]),
]
WAYS = ["item", "update", "setdefault", "change", "delta", "delta_update", "delta_assigned"]


def write(ctx: ToolContext, way: str, value: Any) -> None:
    state, delta = ctx.state, ctx.actions.state_delta
    match way:
        case "item":
            state["x"] = value
        case "update":
            state.update({"x": value})
        case "setdefault":
            state.setdefault("x", value)
        case "change":
            state.change("x", lambda _: value)
        case "delta":
            delta["x"] = value
        case "delta_update":
            delta.update(x=value)
        case _:
            ctx.actions.state_delta = {"x": value}


def writer(way: str, value: Any) -> Agent:
    @tool
    def put(tool_context: ToolContext) -> str:
        """Write it."""
        write(tool_context, way, value)
        return repr(tool_context.state["x"] == value)

    return Agent(name="a", model=ScriptedModel(call("put"), "."), tools=[put])


def told(runner_result: Any) -> str:
    return next(m.results[0].text for m in runner_result.history if m.kind == "tool")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("value", "found"), REFUSED[:4] + REFUSED[-1:])
async def test_what_is_no_json_is_refused_where_it_is_written(
    way: str, value: Any, found: str
) -> None:
    runner = Runner(writer(way, value))
    result = await runner.run("go", session_id="s")
    assert "State 'x' cannot be stored as it is" in told(result)
    assert result.state == await runner.state("s") == {}


@pytest.mark.parametrize(("value", "found"), REFUSED)
async def test_the_refusal_says_what_was_found_and_what_is_taken(value: Any, found: str) -> None:
    with pytest.raises(UsageError, match=f"State 'x' cannot be .*found {found}.*JSON values"):
        await Runner(Agent(name="a", model=ScriptedModel("."))).run("go", state={"x": value})
    with pytest.raises(UsageError, match="State 'x'"):
        await Agent(name="a", model=ScriptedModel(".")).run("go", state={"x": value})


@pytest.mark.parametrize("store", ["memory://", "sqlite://"])
@pytest.mark.parametrize("way", WAYS)
async def test_what_is_json_is_given_back_as_it_was(store: str, way: str, tmp_path: Path) -> None:
    address = store if store == "memory://" else f"sqlite:///{tmp_path}/state.db"
    async with Runner(writer(way, KEPT), store=address) as runner:
        result = await runner.run("go", session_id="s")
        stored = await runner.state("s")
        assert told(result) == "True"
        assert result.state["x"] == stored["x"] == KEPT
        assert type(result.state["x"][10]) is str
        await runner.events("s")


async def test_state_that_was_set_to_none_is_gone_from_the_result_too() -> None:
    runner = Runner(writer("item", None))
    result = await runner.run("go", session_id="s", state={"x": 1})
    assert "x" not in result.state
    assert "x" not in await runner.state("s")


async def test_what_a_call_has_written_cannot_be_taken_back_half() -> None:
    @tool
    def regret(tool_context: ToolContext) -> str:
        """Write, and take it back."""
        tool_context.state["x"] = 1
        tool_context.actions.state_delta.pop("x")
        return "never"

    runner = Runner(Agent(name="a", model=ScriptedModel(call("regret"), "."), tools=[regret]))
    result = await runner.run("go", session_id="s")
    assert "cannot be taken back" in told(result)
    assert result.state == await runner.state("s")


async def test_a_task_s_state_is_refused_when_it_is_enqueued(tmp_path: Path) -> None:
    async with Orchestrator(f"sqlite:///{tmp_path}/tasks.db") as made:
        with pytest.raises(UsageError, match=r"State 'x' .*found a set"):
            await made.enqueue("a", "go", state={"x": {1}})


async def test_a_step_s_output_is_in_the_state_as_the_store_gives_it_back() -> None:
    typed = Agent(name="a", model=ScriptedModel('{"name": "Ghent"}'), output_schema=City)
    runner = Runner(SequentialAgent(name="w", sub_agents=[typed]))
    result = await runner.run("go", session_id="s")
    assert result.state == await runner.state("s") == {"a": {"name": "Ghent"}}


@pytest.mark.parametrize("value", ["\ud83d", "\ud83d\ude00", {"k": ["\udc80"]}], ids=ascii)
async def test_nodes_hand_on_any_string(value: Any, tmp_path: Path) -> None:
    def make() -> Any:
        """Make it."""
        return value

    def keep(text: Any) -> Any:
        """Keep it."""
        return text

    edges = [("start", "make"), ("make", "keep")]
    flow = Workflow(name="w", nodes={"make": make, "keep": keep}, edges=edges)
    async with Runner(flow, store=f"sqlite:///{tmp_path}/flow.db") as runner:
        result = await runner.run("go", session_id="s")
        assert (result.status, result.output, result.reason) == ("done", value, "")
        assert (await runner.state("s"))["keep"] == value


async def test_a_node_that_takes_text_gets_any_string(tmp_path: Path) -> None:
    def make() -> str:
        """Make it."""
        return "\ud83dx\ud83d\ude00"

    def keep(text: str) -> str:
        """Keep it."""
        return text

    flow = Workflow(
        name="w", nodes={"make": make, "keep": keep}, edges=[("start", "make"), ("make", "keep")]
    )
    async with Runner(flow, store=f"sqlite:///{tmp_path}/flow.db") as runner:
        result = await runner.run("\udcff", session_id="s")
        assert (result.output, result.reason) == ("\ud83dx\ud83d\ude00", "")


@pytest.mark.parametrize(
    ("value", "found"), [([10**5000], "a number so long"), (nested(300), "more than 200 levels")]
)
async def test_a_node_s_value_that_cannot_be_stored_stops_the_workflow_with_the_reason(
    value: Any, found: str
) -> None:
    def make() -> Any:
        """Make it."""
        return value

    runner = Runner(Workflow(name="w", nodes={"make": make}, edges=[("start", "make")]))
    result = await runner.run("go", session_id="s")
    assert result.status == "stopped"
    assert found in result.reason
