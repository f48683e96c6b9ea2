"""Real tools of the OpenAI Agents SDK as ours, and ours in one of its runs."""

from typing import Any

import pytest
from agents import Agent, RunContextWrapper, Runner, ToolOutputImage, function_tool
from agents.models.interface import Model, ModelResponse
from agents.usage import Usage
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)
from tests.sources._calling import StubRun, run_tool

from toolwright.errors import ArgumentError, UsageError
from toolwright.messages import BlobPart
from toolwright.sources import from_openai_agents, to_openai_agents
from toolwright.tools import ToolConfirmation, ToolContext

pytestmark = pytest.mark.anyio


@function_tool
def weather(ctx: RunContextWrapper[str], city: str) -> str:
    """The weather.

    Args:
        city: Where.
    """
    if city == "Atlantis":
        raise ValueError("it sank")
    return f"{ctx.context}: sun in {city}"


async def test_schema_context_and_errors_are_kept() -> None:
    ours = from_openai_agents(weather)
    run = StubRun(deps="ada")
    good = await run_tool(ours, {"city": "Oslo"}, run=run)
    bad = await run_tool(ours, {"city": "Atlantis"}, run=run)
    assert ours.spec.parameters["properties"]["city"]["description"] == "Where."
    assert good.text == "ada: sun in Oslo"
    assert "error occurred" in bad.text  # Their own words for it.
    with pytest.raises(ArgumentError):
        await run_tool(ours, {"town": "Oslo"})


async def test_an_approval_is_a_pending_call() -> None:
    @function_tool(needs_approval=True)
    def wipe(disk: str) -> str:
        """Wipe."""
        return f"{disk} wiped"

    ours = from_openai_agents(wipe)
    asked = await run_tool(ours, {"disk": "sda"})
    done = await run_tool(ours, {"disk": "sda"}, confirmation=ToolConfirmation())
    assert (asked.status, done.text) == ("pending", "sda wiped")


async def test_images_are_images() -> None:
    @function_tool
    def draw() -> ToolOutputImage:
        """Draw."""
        return ToolOutputImage(image_url="data:image/png;base64,iVBORw==")

    (blob,) = (await run_tool(from_openai_agents(draw))).blobs
    assert (blob.media_type, blob.data) == ("image/png", b"\x89PNG")


def test_only_function_tools_are_taken() -> None:
    with pytest.raises(UsageError, match="takes a FunctionTool"):
        from_openai_agents(print)  # type: ignore[arg-type]


class CallingModel(Model):
    """Calls the only tool once, then repeats its output."""

    def __init__(self, arguments: str) -> None:
        self.arguments = arguments

    async def get_response(self, *, input: Any, tools: Any, **more: Any) -> Any:
        outputs = [
            i for i in input if isinstance(i, dict) and i.get("type") == "function_call_output"
        ]
        if outputs:
            said = ResponseOutputText(
                annotations=[], text=str(outputs[-1]["output"]), type="output_text"
            )
            item: Any = ResponseOutputMessage(
                id="m", content=[said], role="assistant", status="completed", type="message"
            )
        else:
            item = ResponseFunctionToolCall(
                arguments=self.arguments, call_id="c9", name=tools[0].name, type="function_call"
            )
        return ModelResponse(output=[item], usage=Usage(), response_id=None)

    def stream_response(self, *rest: Any, **more: Any) -> Any:
        raise AssertionError("not streamed here")


def greet(name: str, tool_context: ToolContext, loud: bool = False) -> str:
    """Greet somebody."""
    return f"{tool_context.deps} greets {name} ({tool_context.function_call_id})"


async def run_in_theirs(tool: Any, arguments: str) -> str:
    agent = Agent(name="a", tools=[to_openai_agents(tool)], model=CallingModel(arguments))
    return str((await Runner.run(agent, "go", context="ada")).final_output)


async def test_our_tool_runs_in_their_agent_with_context_and_call_id() -> None:
    assert await run_in_theirs(greet, '{"name": "bob"}') == "ada greets bob (c9)"


async def test_bad_arguments_are_told_to_their_model() -> None:
    said = await run_in_theirs(greet, "{}")
    assert "missing required parameter 'name'" in said


async def test_our_images_are_theirs() -> None:
    def draw() -> BlobPart:
        """Draw."""
        return BlobPart(media_type="image/png", data=b"\x89PNG")

    assert "data:image/png;base64,iVBORw==" in await run_in_theirs(draw, "{}")


async def test_what_a_call_leaves_out_is_filled_in_before_it_is_judged() -> None:
    @function_tool(strict_mode=False)
    def pay(cents: int, to: str = "eve") -> str:
        """Pay."""
        return f"{cents} to {to}"

    ours = from_openai_agents(pay)
    assert ours.parse('{"cents": 1}') == {"cents": 1, "to": "eve"}
    assert (await run_tool(ours, {"cents": 1})).text == "1 to eve"
