"""CrewAI's real tools as ours."""

from typing import Any

import pytest
from crewai.tools import BaseTool, tool
from pydantic import BaseModel, Field
from tests.sources._calling import run_tool

from toolwright.errors import ArgumentError, UsageError
from toolwright.sources import from_crewai

pytestmark = pytest.mark.anyio


class Query(BaseModel):
    word: str = Field(description="What to look for.")
    most: int = 3


class Search(BaseTool):
    name: str = "Search the shop"
    description: str = "Search for things."
    args_schema: type[BaseModel] = Query

    def _run(self, word: str, most: int = 3) -> str:
        return f"{word} x{most}"


class AsyncSearch(Search):
    async def _arun(self, word: str, most: int = 3) -> str:
        return f"async {word}"


@tool("Adder")
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def test_schema_name_and_result_are_kept() -> None:
    ours = from_crewai(Search())
    assert ours.name == "Search_the_shop"
    assert ours.description == "Search for things."
    assert ours.spec.parameters["properties"]["word"]["description"] == "What to look for."
    assert (await run_tool(ours, {"word": "tea"})).text == "tea x3"
    assert ours.parse('{"word": "tea"}') == {"word": "tea", "most": 3}  # What rules and people see.
    with pytest.raises(ArgumentError, match="missing required parameter 'word'"):
        await run_tool(ours)


async def test_async_tools_and_decorated_functions_run() -> None:
    assert (await run_tool(from_crewai(AsyncSearch()), {"word": "tea"})).text == "async tea"
    assert (await run_tool(from_crewai(add), {"a": 2, "b": 3})).text == "5"


async def test_a_usage_limit_is_an_error_result() -> None:
    ours = from_crewai(Search(max_usage_count=1))
    assert (await run_tool(ours, {"word": "tea"})).status == "ok"
    used_up = await run_tool(ours, {"word": "tea"})
    assert used_up.status == "error"
    assert "limit" in used_up.text


def test_only_crewai_tools_are_taken() -> None:
    wrong: Any = print
    with pytest.raises(UsageError, match="takes a CrewAI tool"):
        from_crewai(wrong)
