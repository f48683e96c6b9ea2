"""A setting of the right name with a wrong value is refused when it is given, with what is taken."""

import asyncio
import math
from typing import Any

import pytest
from pydantic import BaseModel

from toolwright import (
    Agent,
    AgentTool,
    Limits,
    Runner,
    UsageError,
    deferred_tool,
    tool,
)
from toolwright.testing import ScriptedModel, call
from toolwright.tools import Decision, Rule, guarded, rules, with_approval

make_agent: Any = Agent
make_limits: Any = Limits


def add(a: int, b: int) -> int:
    """Add."""
    return a + b


@pytest.mark.parametrize("schema", [{"type": "object"}, 1, "x", [int], add, asyncio])
@pytest.mark.parametrize("name", ["output_schema", "input_schema"])
def test_a_schema_is_a_type(name: str, schema: Any) -> None:
    with pytest.raises(UsageError, match=rf"{name} of agent 'a' takes a type, such as a pydantic"):
        make_agent(name="a", **{name: schema})


def test_types_of_all_kinds_are_schemas() -> None:
    class Answer(BaseModel):
        """An answer."""

        text: str

    for schema in (Answer, list[Answer], int | None, dict[str, int]):
        assert Agent(name="a", output_schema=schema, input_schema=schema).output_json_schema


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"output_retries": -1}, "output_retries of agent 'a' cannot be negative; got -1"),
        ({"model": add}, "Agent takes Model or a string or None as 'model'; got <function add"),
        ({"instructions": lambda: "x"}, "is called with the context"),
        ({"instructions": lambda a, b: "x"}, "is called with the context"),
        ({"tools": [Agent(name="b")]}, r"AgentTool\(…\).*sub_agents=\["),
    ],
)
def test_a_value_that_would_fail_later_is_refused_at_once(settings: Any, text: str) -> None:
    with pytest.raises(UsageError, match=text):
        make_agent(name="a", **settings)


def test_what_can_be_called_with_the_context_makes_instructions() -> None:
    class Made:
        """An object."""

        def __call__(self, ctx: Any, more: int = 1) -> str:
            """Some."""
            return "made"

    for instructions in (Made(), lambda *args: "made", lambda ctx: "made"):
        model = ScriptedModel("hi")
        Agent(name="a", model=model, instructions=instructions).run_sync("go")
        assert "made" in str(model.requests[0].instructions)


@pytest.mark.parametrize(
    "setting",
    [
        {"turns": -1}, {"turns_per_run": -1}, {"tool_calls": -2}, {"tokens": -1},
        {"cost": math.nan}, {"cost": -0.1}, {"seconds": math.nan}, {"seconds": -1},
        {"concurrency": 0}, {"concurrency": -1}, {"depth": -1},
    ],
)  # fmt: skip
def test_a_limit_that_cannot_be_held_is_refused(setting: dict[str, Any]) -> None:
    ((name, value),) = setting.items()
    with pytest.raises(UsageError, match=rf"Limits\({name}=…\) .* got {value!r}"):
        make_limits(**setting)


def test_the_smallest_limits_are_taken() -> None:
    limits = Limits(turns=0, cost=0, seconds=math.inf, concurrency=1, depth=0, tool_calls=0)
    assert limits.turns == 0


def test_a_tool_has_a_name_that_providers_take_and_a_time_that_ends() -> None:
    for name in ("a b", "a\n", "ä/b", "x" * 129):
        with pytest.raises(UsageError, match="letters, digits"):
            tool(name=name)(add)
    assert tool(name="a-b.c_1")(add).name == "a-b.c_1"
    for timeout in (math.nan, 0, -1):
        with pytest.raises(UsageError, match="must be positive; got"):
            tool(timeout=timeout)(add)
        with pytest.raises(UsageError, match="must be positive; got"):
            deferred_tool(timeout=timeout)


def deny(tool: Any, args: Any, ctx: Any) -> Decision:
    """A policy that is not async."""
    return Decision(verdict="deny", reason="no sums")


def yes(tool: Any, args: Any, ctx: Any) -> Any:
    """Not what a policy returns."""
    return True


def asked(policy: Any, way: str) -> str:
    """What the model reads when `policy` judges its call."""
    model = ScriptedModel(call("add", a=1, b=2), "Done.")
    tools: dict[str, Any] = {
        "guarded": guarded([add], policy), "wrapper": with_approval(tool(add), policy),
    }  # fmt: skip
    policies = {
        "agent": policy,
        "otherwise": rules(Rule.deny("add", when=lambda a: a > 5), otherwise=policy),
    }
    agent = Agent(
        name="a", model=model, tools=[tools.get(way, add)], policy=policies.get(way)
    )  # fmt: skip
    runner = Runner(agent, policy=policy if way == "runner" else None)
    result = runner.run_sync("go")
    return result.history[2].results[0].text  # type: ignore[missing-attribute,union-attr]


@pytest.mark.parametrize("way", ["agent", "runner", "otherwise", "guarded", "wrapper"])
def test_a_policy_may_be_a_plain_function(way: str) -> None:
    assert "no sums" in asked(deny, way)


@pytest.mark.parametrize("way", ["agent", "guarded"])
def test_what_a_policy_returns_is_a_decision_or_the_call_does_not_run(way: str) -> None:
    assert "A policy returns a Decision, such as Decision(verdict='ask'); got True." in asked(
        yes, way
    )


def test_an_agent_in_a_tool_is_what_the_error_says() -> None:
    assert [t.name for t in Agent(name="a", tools=[AgentTool(Agent(name="b"))]).shelf.tools] == [
        "b"
    ]
