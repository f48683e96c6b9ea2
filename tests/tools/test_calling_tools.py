"""A tool is still the function it was made from, for whoever calls it in Python."""

import inspect
from functools import partial
from typing import Any, assert_type

import pytest

from toolwright import (
    Agent,
    FunctionTool,
    LongRunningFunctionTool,
    ToolContext,
    create_local_execute_tool,
    deferred_tool,
    tool,
)
from toolwright.testing import ScriptedModel, call


@tool
def divide(a: float, b: float = 2) -> float:
    """Divide a by b.

    Args:
        a: What is divided.
        b: By what.
    """
    return a / b


@tool(name="greet_person", require_confirmation=True)
async def greet(name: str) -> str:
    """Greet someone."""
    return f"Hello {name}"


@deferred_tool(timeout=60)
def order(item: str) -> str:
    """Order something."""
    return f"order of {item}"


def test_a_tool_is_called_like_its_function() -> None:
    assert_type(divide(4, b=2), float)
    assert divide(4, b=8) == 0.5
    assert divide(4) == 2
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        divide()  # type: ignore[missing-argument]


@pytest.mark.anyio
async def test_a_tool_of_an_async_function_gives_a_coroutine() -> None:
    assert await greet("Ada") == "Hello Ada"


def test_deferred_and_long_running_tools_are_called_like_their_functions() -> None:
    assert order("tea") == "order of tea"
    assert LongRunningFunctionTool(partial(divide.func, 8), name="eighth")(b=4) == 2
    assert order.is_long_running
    assert not divide.is_long_running


def test_what_would_be_injected_is_an_ordinary_argument_in_python() -> None:
    @tool
    def who(tool_context: ToolContext) -> Any:
        """Who calls."""
        return tool_context

    assert who(tool_context=None) is None  # type: ignore[bad-argument-type]


def test_a_deferred_tool_needs_no_brackets() -> None:
    @deferred_tool
    def order(part: str) -> None:
        """Order a part."""

    result = Agent(
        name="a", model=ScriptedModel(call("order", part="gear")), tools=[order]
    ).run_sync("x")
    assert [(p.name, p.kind, p.deadline) for p in result.pending] == [("order", "result", None)]


def test_a_deferred_tool_that_can_be_called_still_waits_when_the_model_calls_it() -> None:
    agent = Agent(name="a", model=ScriptedModel(call("order", item="tea")), tools=[order])
    assert [p.name for p in agent.run_sync("order tea").pending] == ["order"]


def test_a_tool_shows_the_name_the_documentation_and_the_signature_of_its_function() -> None:
    assert (divide.__name__, greet.__name__, greet.name) == ("divide", "greet", "greet_person")
    assert inspect.getdoc(divide) == inspect.getdoc(divide.func)
    assert str(inspect.signature(divide)) == "(a: float, b: float = 2) -> float"


def test_tools_are_told_apart_by_identity_and_fit_into_sets() -> None:
    again = FunctionTool(divide.func)
    assert len({divide, again, greet, divide}) == 3
    assert divide != again
    assert {divide: 1}[divide] == 1
    assert divide.replace() != divide


@pytest.mark.row("000-59")
@pytest.mark.anyio
async def test_the_execute_tool_can_be_called(tmp_path: Any) -> None:
    execute = create_local_execute_tool(work_dir=tmp_path)
    answer = await execute("echo hi")
    assert answer["output"].strip() == "hi"
