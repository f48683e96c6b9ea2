"""Tools of other frameworks: what rules and people see is what the framework would run."""

from itertools import count
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator, BaseModel, Field

from toolwright import Agent, Approve, Rule, Runner, from_pydantic_ai, rules
from toolwright.errors import ArgumentError, ToolError
from toolwright.sources.frameworks._foreign import with_defaults, with_model, with_schema
from toolwright.testing import ScriptedModel, call
from toolwright.tools import FunctionTool, Tool

pytestmark = pytest.mark.anyio
ran: list[Any] = []
keys = count()


@pytest.fixture(autouse=True)
def nothing_ran() -> None:
    ran.clear()


class Order(BaseModel):
    to: str = "eve"
    cents: int = 99_999
    key: int = Field(default_factory=lambda: next(keys))


def with_default(cents: int, to: str = "eve") -> str:
    """Pay."""
    ran.append({"cents": cents, "to": to})
    return "paid"


def with_a_model(order: Order) -> str:
    """Pay."""
    ran.append({"order": order.model_dump()})
    return "paid"


def with_two(order: Order, times: int = 2) -> str:
    """Pay."""
    ran.append({"order": order.model_dump(), "times": times})
    return "paid"


def with_factory(cents: int, key: Annotated[int, Field(default_factory=lambda: next(keys))]) -> str:
    """Pay."""
    ran.append({"cents": cents, "key": key})
    return "paid"


def with_validator(cents: Annotated[int, AfterValidator(lambda cents: cents * 1000)]) -> str:
    """Pay."""
    ran.append({"cents": cents})
    return "paid"


FUNCTIONS: list[tuple[Any, dict[str, Any]]] = [
    (with_default, {"cents": 1}),
    (with_a_model, {"order": {}}),
    (with_a_model, {"cents": 5, "key": 1}),
    (with_two, {"order": {"cents": 5}}),
    (with_factory, {"cents": 1}),
    (with_validator, {"cents": 1}),
]


def theirs(function: Any) -> Tool:
    pytest.importorskip("pydantic_ai")
    return from_pydantic_ai(function)


@pytest.mark.parametrize(
    ("function", "arguments"), FUNCTIONS, ids=[f"{f.__name__} {list(a)}" for f, a in FUNCTIONS]
)
async def test_the_card_shows_what_runs(function: Any, arguments: dict[str, Any]) -> None:
    tool = theirs(function)
    model = ScriptedModel(call(tool.name, **arguments), "ok")
    runner = Runner(
        Agent(name="a", model=model, tools=[tool]),
        policy=rules(Rule.ask(tool.name), otherwise="allow"),
    )
    (asked,) = (await runner.run("go", session_id="s")).pending
    await runner.answer("s", asked.call_id, Approve())
    await runner.resume("s")
    assert ran == [asked.arguments]


async def test_the_card_and_its_edits_are_those_of_a_function_tool_of_ours() -> None:
    shown = []
    for tool in (FunctionTool(with_a_model), theirs(with_a_model)):
        assert tool.spec.parameters["required"] == ["order"]
        model = ScriptedModel(call(tool.name, order={"key": 7}), "ok")
        runner = Runner(
            Agent(name="a", model=model, tools=[tool]),
            policy=rules(Rule.ask(tool.name), otherwise="allow"),
        )
        (asked,) = (await runner.run("go", session_id="s")).pending
        shown.append(asked.arguments)
        changed = {"order": {**asked.arguments["order"], "cents": 3}}
        await runner.answer("s", asked.call_id, Approve(arguments=changed))
        await runner.resume("s")
    assert shown[0] == shown[1]
    assert ran == [{"order": {"to": "eve", "cents": 3, "key": 7}}] * 2


async def test_rules_see_what_validation_makes_of_arguments() -> None:
    tool = theirs(with_validator)
    model = ScriptedModel(call(tool.name, cents=5), "ok")
    agent = Agent(name="a", model=model, tools=[tool])
    policy = rules(Rule.deny(tool.name, when="cents > 1000"), otherwise="allow")
    await Runner(agent, policy=policy).run("go")
    assert ran == []


async def test_a_tool_with_a_schema_and_no_types_is_held_to_its_schema() -> None:
    pydantic_ai = pytest.importorskip("pydantic_ai")
    schema = {"type": "object", "properties": {"cents": {"type": "integer"}}, "required": ["cents"]}
    made = pydantic_ai.Tool.from_schema(with_default, "pay", "Pay.", schema)
    with pytest.raises(ArgumentError, match="missing required parameter 'cents'"):
        theirs(made).parse("{}")


def test_what_is_no_json_is_explained() -> None:
    with pytest.raises(ArgumentError, match="this is not JSON"):
        theirs(with_a_model).parse("{order")


def test_defaults_of_a_schema_are_filled_in_to_any_depth() -> None:
    schema = {
        "properties": {
            "orders": {"type": "array", "items": {"$ref": "#/$defs/Order"}},
            "note": {"default": None},
            "times": {"default": 2},
        },
        "$defs": {"Order": {"properties": {"to": {"default": "eve"}, "cents": {}}}},
    }
    filled = with_schema(schema)({"orders": [{"cents": 1}, {"to": "bob"}]})
    assert filled == {"orders": [{"to": "eve", "cents": 1}, {"to": "bob"}], "times": 2}


def test_defaults_of_a_function_are_filled_in_for_what_a_model_may_set() -> None:
    def pay(
        cents: int, to: str = "eve", note: str | None = None, context: str = "ours"
    ) -> None: ...

    fill = with_defaults(pay, {"properties": {"cents": {}, "to": {}, "note": {}}})
    assert fill({"cents": 1}) == {"to": "eve", "cents": 1}
    assert fill({"cents": 1, "to": "bob"}) == {"to": "bob", "cents": 1}


def test_a_model_fills_in_what_it_would() -> None:
    class Pay(BaseModel):
        order: Order
        note: str | None = None

    filled = with_model("pay", Pay)({"order": {"key": 1}})
    assert filled == {"order": {"to": "eve", "cents": 99_999, "key": 1}}
    with pytest.raises(ArgumentError, match=r"'order\.cents'"):
        with_model("pay", Pay)({"order": {"cents": "many"}})


def test_a_model_that_makes_something_else_of_what_was_shown_is_refused() -> None:
    class Pay(BaseModel):
        cents: Annotated[int, AfterValidator(lambda cents: cents * 1000)]

    with pytest.raises(ToolError, match=r"\{'cents': 1000\}, so that nobody could be shown"):
        with_model("pay", Pay)({"cents": 1})
