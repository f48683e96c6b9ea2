"""LangChain's real tools as ours, and ours in LangChain."""

from typing import Annotated, Any

import pytest
from langchain_core.messages import ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import InjectedToolCallId, ToolException, tool
from pydantic import AfterValidator
from tests.sources._calling import run_tool

from toolwright.errors import ArgumentError, ToolError, UsageError
from toolwright.sources import from_langchain, to_langchain
from toolwright.tools import FunctionTool

pytestmark = pytest.mark.anyio


@tool
def add(a: int, b: int = 1) -> int:
    """Add two numbers.

    Args:
        a: The first.
        b: The second.
    """
    return a + b


@tool(response_format="content_and_artifact")
async def search(query: str) -> tuple[str, Any]:
    """Search."""
    return f"Found {query}", {"hits": [query]}


@tool
def who(config: RunnableConfig, call_id: Annotated[str, InjectedToolCallId]) -> str:
    """Who asks."""
    return f"{config['configurable']['user_id']} {call_id}"


@tool
def fail() -> str:
    """Fail."""
    raise ToolException("no luck")


async def test_schema_defaults_and_result_are_kept() -> None:
    ours = from_langchain(add)
    assert ours.description.startswith("Add two numbers.")
    assert ours.spec.parameters["required"] == ["a"]
    assert ours.spec.parameters["properties"]["b"]["default"] == 1
    assert (await run_tool(ours, {"a": 2, "b": 3})).text == "5"
    with pytest.raises(ArgumentError):
        await run_tool(ours, {"a": "two"})


async def test_an_async_tool_with_an_artifact_gives_it_as_data() -> None:
    output = await run_tool(from_langchain(search), {"query": "x"})
    assert (output.text, output.data) == ("Found x", {"hits": ["x"]})


async def test_injected_arguments_are_filled_in_and_not_shown_to_the_model() -> None:
    ours = from_langchain(who)
    assert ours.spec.parameters["properties"] == {}
    assert (await run_tool(ours)).text == "ada c1"


async def test_a_tool_that_fails_raises_its_own_words() -> None:
    with pytest.raises(ToolException, match="no luck"):
        await run_tool(from_langchain(fail))


def test_only_langchain_tools_are_taken() -> None:
    with pytest.raises(UsageError, match="takes a LangChain tool"):
        from_langchain(print)  # type: ignore[arg-type]


def multiply(a: int, b: int = 2) -> tuple[str, dict[str, int]]:
    """Multiply two numbers."""
    if a < 0:
        raise ValueError("no negative numbers")
    return f"{a * b}", {"product": a * b}


async def test_our_tool_runs_in_langchain_sync_and_async() -> None:
    theirs = to_langchain(multiply)
    request = {"type": "tool_call", "id": "1", "name": "multiply", "args": {"a": 3}}
    message = await theirs.ainvoke(request)
    assert isinstance(message, ToolMessage)
    assert (message.content, message.artifact) == ("6", {"product": 6})
    assert theirs.invoke({"a": 4}) == "8"
    assert theirs.args["b"]["default"] == 2


async def test_what_goes_wrong_in_our_tool_is_an_error_message_there() -> None:
    theirs = to_langchain(multiply)
    request = {"type": "tool_call", "id": "1", "name": "multiply"}
    failed = await theirs.ainvoke({**request, "args": {"a": -1}})
    assert (failed.status, failed.content) == ("error", "ValueError: no negative numbers")
    asks = to_langchain(FunctionTool(multiply, require_confirmation=True))
    asked = await asks.ainvoke({**request, "args": {"a": 1}})
    assert "needs an answer from a person" in asked.content


async def test_what_a_call_leaves_out_is_filled_in_before_it_is_judged() -> None:
    assert from_langchain(add).parse('{"a": 2}') == {"a": 2, "b": 1}


async def test_a_validation_that_would_change_what_was_shown_refuses_the_call() -> None:
    @tool
    def pay(cents: Annotated[int, AfterValidator(lambda cents: cents * 100)]) -> str:
        """Pay."""
        return f"paid {cents}"

    with pytest.raises(ToolError, match="nobody could be shown what runs"):
        await run_tool(from_langchain(pay), {"cents": 1})
