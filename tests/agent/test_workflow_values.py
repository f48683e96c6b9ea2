"""What a node returns is what the next one gets, in this process and in another."""

import copy
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from enum import IntEnum, StrEnum
from pathlib import Path
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import pytest
from pydantic import BaseModel, Field, PrivateAttr, field_serializer, field_validator
from tests._postgres import new_database

from toolwright import (
    Agent,
    Approve,
    FunctionTool,
    ModelError,
    Runner,
    ToolContext,
    UsageError,
    tool,
)
from toolwright.agent import START, Edge, ParallelAgent, Workflow
from toolwright.agent._same_value import is_same_value
from toolwright.backends import MemoryStore, SqlStore
from toolwright.messages import ModelMessage, StateChanged
from toolwright.models import ModelRequest, OnDelta
from toolwright.testing import ScriptedModel, call
from toolwright.tools import Tool

pytestmark = pytest.mark.anyio


class Report(BaseModel):
    a: int
    b: str


@dataclass
class Point:
    x: int
    y: int = 0


class Color(StrEnum):
    RED = "red"


class Level(IntEnum):
    HIGH = 3


class Pair(NamedTuple):
    x: int
    y: str


class Holder(BaseModel):
    level: Any
    _kept: int = PrivateAttr(default=1)

    @field_validator("level")
    @classmethod
    def known(cls, level: Any) -> Any:
        return Level(int(level)) if level == "3" else level

    @field_serializer("level")
    def shown(self, level: Any) -> Any:
        return "3" if isinstance(level, Level) else str(level)


@dataclass
class Noted:
    a: int
    note: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        self.length = len(self.note)


@dataclass
class Cached:
    a: int
    cache: int = field(default=0, init=False, compare=False)


def cached(number: int) -> Cached:
    made = Cached(1)
    made.cache = number
    return made


@dataclass(slots=True, eq=False)
class Slotted:
    ratio: float


class Unknown(NamedTuple):
    what: object


class Words(str):
    __slots__ = ()


VALUES = [
    "12345", "true", "null", "1e5", "[1,2]", '{"a":1}', "", None, b"\x00\xff", b"", 7, 1.5, True, [1, "x"],
    {"k": [None]}, Report(a=1, b="z"), Point(x=1, y=2),
]  # fmt: skip


def flow(first: Callable[..., Any], then: Callable[..., Any] | Tool) -> Workflow:
    nodes = {"first": first, "then": then}
    return Workflow(name="wf", nodes=nodes, edges=[(START, "first"), ("first", "then")])


@pytest.mark.parametrize("value", VALUES, ids=repr)
async def test_a_value_arrives_as_it_was_returned(value: Any) -> None:
    seen: list[Any] = []

    def first(text: str):  # noqa: ANN202 - a function need not say what it returns
        return value

    def then(data):  # noqa: ANN001, ANN202
        seen.append(data)
        return data

    result = await flow(first, then).run("go")
    assert result.status == "done", result.reason
    assert [(type(one), one) for one in seen] == [(type(value), value)]
    assert (type(result.output), result.output) == (type(value), value)


@pytest.mark.parametrize("value", VALUES, ids=repr)
async def test_a_value_is_the_same_after_a_pause_and_a_restart(value: Any, tmp_path: Path) -> None:
    seen: list[Any] = []
    ran: list[str] = []

    def make(text: str):  # noqa: ANN202
        ran.append("make")
        return value

    def check(data):  # noqa: ANN001, ANN202
        seen.append(data)
        return data

    def runner() -> Runner:
        asking = FunctionTool(check, require_confirmation=True)
        return Runner(flow(make, asking), store=f"sqlite:///{tmp_path / 'a.db'}")

    async with runner() as first:
        paused = await first.run("go", session_id="s")
        assert paused.status == "paused", paused.reason
    async with runner() as second:
        await second.answer("s", paused.pending[0].call_id, True)
        result = await second.resume("s")
        assert result.status == "done", result.reason
    assert ran == ["make"]
    assert [(type(one), one) for one in seen] == [(type(value), value)]
    assert (type(result.output), result.output) == (type(value), value)
    async with runner() as third:
        again = await third.resume("s")
        assert (type(again.output), again.output) == (type(value), value)


KEPT: list[tuple[Any, Any]] = [
    (Color.RED, str), (Level.HIGH, int), (Pair(1, "b"), tuple), (Color.RED, Any),
    (OrderedDict(b=1, a=2), OrderedDict[str, int]), ({"c": Color.RED}, dict[str, Color]),
    ([Level.HIGH], list[Level]), (Noted(1, note="n"), Any), (Slotted(1.5), Any),
    (defaultdict(list, a=[1]), defaultdict[str, list[int]]), ({Level.HIGH}, set[Level]),
    (deque([1, 2]), deque[int]), (Decimal("0.50"), Decimal),
    (datetime(2026, 7, 1, 12, tzinfo=UTC), datetime), (Holder(level=Level.HIGH), Any),
]  # fmt: skip

CHANGED: list[tuple[Any, Any]] = [
    (OrderedDict(a=1), dict), ({"c": Color.RED}, dict[str, Any]), ([Level.HIGH, True], list[int]),
    (bytearray(b"x"), bytes), (Decimal("0.5"), float), ((1, 2), list[int]), (Unknown(object()), Any),
    (datetime(2026, 7, 1, 12, tzinfo=ZoneInfo("Europe/Berlin")), datetime),
    (cached(42), Any), (Holder(level=3), Any), ({Level.HIGH}, set[int]), (Counter("aab"), dict),
    ({1: "a"}, Any), (Words("a"), str),
]  # fmt: skip


def returning(value: Any, hint: Any, seen: list[Any]) -> Workflow:
    def make(text: str) -> Any:
        return value

    def check(data: Any) -> str:
        seen.append(data)
        return "ok"

    make.__annotations__["return"] = hint
    return flow(make, FunctionTool(check, require_confirmation=True))


@pytest.fixture(params=["memory", "sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> MemoryStore | SqlStore:
    if request.param == "memory":
        return MemoryStore()
    return SqlStore(new_database() if request.param == "postgres" else f"sqlite:///{tmp_path}/a.db")


async def test_every_part_of_a_value_has_its_type_again_after_a_pause(
    store: MemoryStore | SqlStore,
) -> None:
    for number, (value, hint) in enumerate(KEPT):
        seen: list[Any] = []
        session = f"s{number}"
        paused = await Runner(returning(value, hint, []), store=store).run("go", session_id=session)
        assert paused.status == "paused", paused.reason
        second = Runner(returning(None, hint, seen), store=store)
        await second.answer(session, paused.pending[0].call_id, True)
        assert (await second.resume(session)).status == "done"
        assert is_same_value(value, seen[0]), (value, seen[0])
        assert repr(value).partition("tzinfo")[0] == repr(seen[0]).partition("tzinfo")[0]
    await store.close()


@pytest.mark.parametrize(
    ("value", "hint"), CHANGED, ids=[repr(pair) for pair in range(len(CHANGED))]
)
async def test_a_value_that_would_come_back_in_another_type_stops_the_workflow(
    value: Any, hint: Any
) -> None:
    seen: list[Any] = []
    result = await Runner(returning(value, hint, seen)).run("go", session_id="s")
    assert (result.status, seen) == ("stopped", [])
    assert f"It returned {type(value).__name__}, which cannot be stored" in result.reason
    assert "annotate what is returned" in result.reason


@pytest.mark.parametrize(
    "value", ["x", 1, -0.0, [1], {"a": 1}, Pair(1, "b"), Noted(1), deque([1], 2)]
)
def test_values_of_one_type_are_told_apart(value: Any) -> None:
    others = ["y", 2, 0.0, [True], {"a": True}, Pair(True, "b"), Noted(True), deque([1], 3)]
    assert is_same_value(value, copy.deepcopy(value))
    assert [other for other in others if is_same_value(value, other)] == []


async def test_a_typed_list_comes_back_by_the_return_type_of_its_function(tmp_path: Path) -> None:
    seen: list[Any] = []

    def make(text: str) -> list[Report]:
        return [Report(a=1, b="z")]

    def check(data: Any) -> str:
        seen.append(data)
        return "ok"

    def runner() -> Runner:
        asking = FunctionTool(check, require_confirmation=True)
        return Runner(flow(make, asking), store=f"sqlite:///{tmp_path / 'a.db'}")

    async with runner() as first:
        paused = await first.run("go", session_id="s")
    async with runner() as second:
        await second.answer("s", paused.pending[0].call_id, True)
        await second.resume("s")
    assert seen == [[Report(a=1, b="z")]]


async def test_a_value_that_cannot_be_stored_says_so_where_it_must_be(tmp_path: Path) -> None:
    def make(text: str):  # noqa: ANN202
        return {1, 2}

    def then(data):  # noqa: ANN001, ANN202
        return sorted(data)

    assert (await flow(make, then).run("go")).output == [1, 2]
    async with Runner(flow(make, then), store=f"sqlite:///{tmp_path / 'a.db'}") as runner:
        result = await runner.run("go")
    assert result.status == "stopped"
    assert "It returned set, which cannot be stored for the next node" in result.reason


class Partly(BaseModel):
    shown: int
    hidden: int = Field(default=0, exclude=True)


async def test_a_value_that_would_come_back_different_is_refused_too(tmp_path: Path) -> None:
    def make(text: str) -> Partly:
        return Partly(shown=1, hidden=2)

    async with Runner(flow(make, make_text), store=f"sqlite:///{tmp_path / 'a.db'}") as runner:
        result = await runner.run("go")
    assert "It returned Partly, which cannot be stored" in result.reason


@pytest.mark.parametrize("value", [Report(a=1, b="z"), {"a": 1, "b": "z"}], ids=["model", "dict"])
async def test_the_fields_of_a_result_are_the_arguments_of_those_names(value: Any) -> None:
    def make(text: str):  # noqa: ANN202
        return value

    def then(a: int, b: str) -> str:
        return f"{a} {b}"

    assert (await flow(make, then).run("go")).output == "1 z"


async def test_the_output_of_an_agent_with_a_schema_is_spread_too() -> None:
    agent = Agent(name="ag", model=ScriptedModel('{"a": 1, "b": "z"}'), output_schema=Report)

    def then(a: int, b: str) -> str:
        return f"{a} {b}"

    edges = [(START, "ag"), ("ag", "then")]
    result = await Workflow(name="wf", nodes={"ag": agent, "then": then}, edges=edges).run("go")
    assert result.output == "1 z"


async def test_a_dict_goes_whole_into_a_parameter_that_none_of_its_keys_names() -> None:
    def make(text: str) -> dict[str, int]:
        return {"a": 1}

    def then(data: dict[str, int]) -> int:
        return data["a"]

    assert (await flow(make, then).run("go")).output == 1


async def test_arguments_that_a_person_has_changed_are_the_ones_that_count() -> None:
    def make(text: str):  # noqa: ANN202
        return b"original"

    def then(data: bytes) -> str:
        return data.decode()

    asking = FunctionTool(then, require_confirmation=True)
    wf = flow(make, asking)
    paused = await wf.run("go")
    answers = {paused.pending[0].call_id: Approve(arguments={"data": "changed"})}
    assert "changed" in (await wf.resume(paused, answers)).text


def test_two_edges_without_a_route_from_one_node_are_refused() -> None:
    nodes = {"a": lambda text: text, "b": lambda text: text, "c": lambda text: text}
    named = {key: FunctionTool(function, name=key) for key, function in nodes.items()}
    with pytest.raises(UsageError, match="two edges without a route from 'a', to 'b' and 'c'"):
        Workflow(name="wf", nodes=named, edges=[(START, "a"), ("a", "b"), ("a", "c")])
    with pytest.raises(UsageError, match="two edges for 'x' from 'a'"):
        Workflow(name="wf", nodes=named, edges=[(START, "a"), ("a", "b", "x"), ("a", "c", "x")])
    with pytest.raises(UsageError, match="cannot have a node named 'start'"):
        Workflow(name="wf", nodes={START: named["a"]}, edges=[(START, START)])


@pytest.mark.row("004-W2")
@pytest.mark.parametrize(("route", "taken"), [(True, "yes"), (1, "one"), ("x", None), (None, None)])
async def test_routes_are_told_apart_by_kind_and_an_unknown_one_is_an_error(
    route: Any, taken: str | None
) -> None:
    def begin(text: str, tool_context: ToolContext) -> str:
        tool_context.route = route
        return "begun"

    def one(text: str) -> str:
        return "one"

    def yes(text: str) -> str:
        return "yes"

    edges = [Edge(START, "begin"), Edge("begin", "one", 1), Edge("begin", "yes", True)]
    nodes = {"begin": begin, "one": one, "yes": yes}
    result = await Workflow(name="wf", nodes=nodes, edges=edges).run("go")
    if route == "x":
        assert result.status == "stopped"
        assert "chose route 'x', which fits no single edge" in result.reason
        assert "1 to 'one', True to 'yes'" in result.reason
    else:
        assert (result.status, result.output) == ("done", taken or "begun")


async def test_a_route_without_an_edge_takes_the_edge_without_a_route() -> None:
    def begin(text: str, tool_context: ToolContext) -> str:
        tool_context.route = "elsewhere"
        return "begun"

    def other(text: str) -> str:
        return "other"

    edges = [(START, "begin"), ("begin", "begin", "x"), ("begin", "other")]
    wf = Workflow(name="wf", nodes={"begin": begin, "other": other}, edges=edges)
    assert (await wf.run("go")).output == "other"


async def test_a_tool_of_an_agent_node_knows_its_place() -> None:
    seen: list[str] = []

    @tool
    def look(tool_context: ToolContext) -> str:
        """Look around."""
        seen.append(tool_context.node_path)
        return "seen"

    agent = Agent(name="ag", model=ScriptedModel(call("look"), "Done."), tools=[look])
    await Workflow(name="wf", nodes={"ag": agent}, edges=[(START, "ag")]).run("go")
    assert seen == ["ag.1"]


class Broken:
    name = "broken"

    async def respond(self, request: ModelRequest, on_delta: OnDelta | None = None) -> ModelMessage:
        raise ModelError("overloaded", reason="overloaded")


async def test_parallel_agents_raise_what_one_agent_raises() -> None:
    agents = [Agent(name="a", model=Broken()), Agent(name="b", model=ScriptedModel("fine"))]
    with pytest.raises(ModelError, match="overloaded"):
        await ParallelAgent(name="flow", sub_agents=agents).run("go")


async def test_a_value_in_the_state_is_plain_json() -> None:
    def make(text: str) -> Report:
        return Report(a=1, b="z")

    result = await flow(make, make_text).run("go")
    deltas = [e.delta for e in result.events if isinstance(e, StateChanged)]
    assert deltas[0] == {"first": {"a": 1, "b": "z"}}


def make_text(data: Any) -> str:
    return str(data)


def test_an_edge_back_to_the_start_is_refused_when_built() -> None:
    node = FunctionTool(lambda text: text, name="f")
    with pytest.raises(UsageError, match="an edge from 'f' to 'start'"):
        Workflow(name="w", nodes={"f": node}, edges=[(START, "f"), ("f", START)])


def nested(inner: Workflow, then: Callable[..., Any] | Tool) -> Workflow:
    nodes = {"inner": inner, "then": then}
    return Workflow(name="outer", nodes=nodes, edges=[(START, "inner"), ("inner", "then")])


async def test_a_workflow_inside_a_workflow_hands_on_what_its_last_node_returned() -> None:
    for value in VALUES:
        seen: list[Any] = []

        def make(text: str) -> Any:
            return value  # noqa: B023 - it runs before the next value is tried

        def check(data: Any) -> str:
            seen.append(data)  # noqa: B023 - it runs before the next value is tried
            return "ok"

        inner = Workflow(name="inner", nodes={"make": make}, edges=[(START, "make")])
        last = Workflow(name="outer", nodes={"inner": inner.copy()}, edges=[(START, "inner")])
        result = await last.run("go")
        assert (type(result.output), result.output) == (type(value), value)
        await nested(inner, check).run("go")
        assert [(type(one), one) for one in seen] == [(type(value), value)]


async def test_what_a_workflow_inside_hands_on_has_its_type_again_after_a_pause() -> None:
    store = MemoryStore()
    for number, (value, hint) in enumerate(KEPT):

        def outer(value: Any, seen: list[Any], hint: Any = hint) -> Workflow:
            def make(text: str) -> Any:
                return value

            def check(data: Any) -> str:
                seen.append(data)
                return "ok"

            make.__annotations__["return"] = hint
            inner = Workflow(name="inner", nodes={"make": make}, edges=[(START, "make")])
            return nested(inner, FunctionTool(check, require_confirmation=True))

        seen: list[Any] = []
        session = f"s{number}"
        paused = await Runner(outer(value, []), store=store).run("go", session_id=session)
        second = Runner(outer(None, seen), store=store)
        await second.answer(session, paused.pending[0].call_id, True)
        assert (await second.resume(session)).status == "done"
        assert is_same_value(value, seen[0]), (value, seen[0])


async def test_a_route_inside_a_workflow_is_none_of_the_workflow_around_it() -> None:
    def choose(tool_context: ToolContext) -> str:
        tool_context.route = "left"
        return "chosen"

    def left() -> str:
        return "L"

    def right() -> str:
        return "right"

    inner = Workflow(
        name="inner",
        nodes={"choose": choose, "left": left},
        edges=[(START, "choose"), ("choose", "left", "left")],
    )
    outer = Workflow(
        name="outer",
        nodes={"inner": inner, "text": right, "route": choose},
        edges=[(START, "inner"), ("inner", "text", "L"), ("inner", "route", "left")],
    )
    assert (await outer.run("go")).text == "right"
