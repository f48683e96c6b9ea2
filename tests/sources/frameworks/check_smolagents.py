"""smolagents' real tools as ours."""

from typing import Any

import pytest
from smolagents import Tool, tool
from tests.sources._calling import run_tool

from toolwright.errors import ArgumentError, UsageError
from toolwright.sources import from_smolagents

pytestmark = pytest.mark.anyio


@tool
def add(a: int, b: int = 1) -> int:
    """Add two numbers.

    Args:
        a: The first.
        b: The second.
    """
    return a + b


class Painter(Tool):
    name = "paint"
    description = "Paint a colour."
    inputs = {"colour": {"type": "string", "description": "Which."}}  # noqa: RUF012
    output_type = "image"

    def forward(self, colour: str) -> Any:
        from PIL import Image

        return Image.new("RGB", (2, 2), colour)


async def test_schema_and_result_are_kept() -> None:
    ours = from_smolagents(add)
    assert ours.spec.parameters["required"] == ["a"]
    assert ours.spec.parameters["properties"]["a"]["description"] == "The first."
    assert (await run_tool(ours, {"a": 2, "b": 3})).text == "5"
    assert (await run_tool(ours, {"a": 2})).text == "3"
    assert ours.parse('{"a": 2}') == {"a": 2, "b": 1}  # What rules and people see.
    with pytest.raises(ArgumentError):
        await run_tool(ours, {"a": "two"})


async def test_images_reach_the_model_as_images() -> None:
    (blob,) = (await run_tool(from_smolagents(Painter()), {"colour": "red"})).blobs
    assert blob.media_type == "image/png"


def test_only_smolagents_tools_are_taken() -> None:
    with pytest.raises(UsageError, match="takes a smolagents tool"):
        from_smolagents(print)  # type: ignore[arg-type]
