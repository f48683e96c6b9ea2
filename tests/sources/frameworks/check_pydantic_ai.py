"""pydantic-ai's real tools as ours, and ours in a pydantic-ai agent."""

from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_ai import (
    Agent,
    ApprovalRequired,
    BinaryContent,
    DeferredToolRequests,
    DeferredToolResults,
    ModelRetry,
    RunContext,
    Tool,
    ToolApproved,
    ToolReturn,
)
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel
from tests.sources._calling import StubRun, run_tool

from toolwright.errors import ArgumentError
from toolwright.sources import from_pydantic_ai, to_pydantic_ai
from toolwright.tools import FunctionTool, ToolConfirmation, ToolContext

pytestmark = pytest.mark.anyio


class Point(BaseModel):
    x: int
    y: int = 0


def move(ctx: RunContext[str], to: Point) -> str:
    """Move somewhere.

    Args:
        ctx: The context.
        to: Where.
    """
    assert isinstance(to, Point)
    return f"{ctx.deps} moved to {to.x},{to.y} in {ctx.tool_call_id}"


async def test_schema_models_and_context_are_kept() -> None:
    ours = from_pydantic_ai(move)
    output = await run_tool(ours, {"x": 1}, run=StubRun(deps="ada"))
    assert ours.description == "Move somewhere."
    assert output.text == "ada moved to 1,0 in c1"
    with pytest.raises(ArgumentError):
        await run_tool(ours, {"x": "far"})


async def test_a_retry_is_an_error_and_an_approval_a_pending_call() -> None:
    def delete(ctx: RunContext[None], path: str) -> str:
        """Delete a file."""
        if path == "/":
            raise ModelRetry("not the root")
        if not ctx.tool_call_approved:
            raise ApprovalRequired(metadata={"path": path})
        return "deleted"

    ours = from_pydantic_ai(Tool(delete))
    retry = await run_tool(ours, {"path": "/"})
    asked = await run_tool(ours, {"path": "/tmp/x"})
    done = await run_tool(ours, {"path": "/tmp/x"}, confirmation=ToolConfirmation())
    assert (retry.status, retry.text) == ("error", "not the root")
    assert (asked.status, done.text) == ("pending", "deleted")


async def test_a_tool_that_requires_approval_is_asked_for() -> None:
    ours = from_pydantic_ai(Tool(lambda: "x", name="x", description="X.", requires_approval=True))
    assert (await run_tool(ours)).status == "pending"


async def test_a_tool_that_requires_approval_knows_that_it_was_given() -> None:
    def pay(ctx: RunContext[None]) -> str:
        """Pay."""
        return f"approved: {ctx.tool_call_approved}"

    required = from_pydantic_ai(Tool(pay, requires_approval=True))
    assert (await run_tool(required, confirmation=ToolConfirmation())).text == "approved: True"
    assert (await run_tool(from_pydantic_ai(pay))).text == "approved: False"


async def test_images_and_metadata_come_along() -> None:
    def draw() -> ToolReturn:
        """Draw."""
        image = BinaryContent(data=b"\x89PNG", media_type="image/png")
        return ToolReturn("drawn", content=["see:", image], metadata={"size": 1})

    output = await run_tool(from_pydantic_ai(draw))
    assert (output.text, output.data) == ("drawn", {"size": 1})
    assert output.blobs[0].media_type == "image/png"


def agent_that_calls(tool: Tool[Any], **arguments: Any) -> Agent[Any, Any]:
    """A pydantic-ai agent whose model calls the tool once and then repeats the answer."""

    def model(messages: list[Any], info: Any) -> ModelResponse:
        last = messages[-1].parts[-1]
        if isinstance(last, ToolReturnPart) or last.part_kind == "retry-prompt":
            return ModelResponse([TextPart(f"{last.part_kind}: {last.content}")])
        return ModelResponse([ToolCallPart(tool.name, arguments, "c9")])

    output: Any = [str, DeferredToolRequests]
    return Agent(FunctionModel(model), tools=[tool], output_type=output, deps_type=str)


def greet(name: str, tool_context: ToolContext) -> str:
    """Greet somebody."""
    if name == "nobody":
        raise ValueError("whom?")
    return f"{tool_context.deps} greets {name} ({tool_context.function_call_id})"


async def test_our_tool_runs_in_their_agent_with_deps_and_call_id() -> None:
    agent = agent_that_calls(to_pydantic_ai(greet), name="bob")
    result = await agent.run("go", deps="ada")
    assert result.output == "tool-return: ada greets bob (c9)"


async def test_what_goes_wrong_in_our_tool_is_a_retry_there() -> None:
    agent = agent_that_calls(to_pydantic_ai(greet), name="nobody")
    assert "ValueError: whom?" in (await agent.run("go", deps="ada")).output


async def test_our_confirmation_is_their_approval() -> None:
    tool = to_pydantic_ai(FunctionTool(greet, require_confirmation=True))
    agent = agent_that_calls(tool, name="bob")
    paused = await agent.run("go", deps="ada")
    assert isinstance(paused.output, DeferredToolRequests)
    resumed = await agent.run(
        message_history=paused.all_messages(),
        deferred_tool_results=DeferredToolResults(approvals={"c9": True}),
        deps="ada",
    )
    assert resumed.output == "tool-return: ada greets bob (c9)"


async def test_the_rule_and_the_function_are_answered_one_after_the_other() -> None:
    def pay(cents: int, tool_context: ToolContext) -> str:
        """Pay."""
        if tool_context.tool_confirmation is None:
            tool_context.request_confirmation(hint="To a NEW account?")
            return ""
        return f"paid {cents}"

    agent = agent_that_calls(to_pydantic_ai(FunctionTool(pay, require_confirmation=True)), cents=5)
    result = await agent.run("go", deps="ada")
    hints: list[str] = []
    while isinstance(result.output, DeferredToolRequests):
        asked = result.output
        hints.append(asked.metadata["c9"]["hint"])
        result = await agent.run(
            message_history=result.all_messages(),
            deferred_tool_results=DeferredToolResults(
                approvals={"c9": True}, metadata=asked.metadata
            ),
            deps="ada",
        )
    assert hints == ["Allow 'pay' with these arguments?", "To a NEW account?"]
    assert result.output == "tool-return: paid 5"


@pytest.mark.parametrize("tells", [True, False])
async def test_what_a_person_has_changed_away_does_not_run(tells: bool) -> None:
    paid: list[int] = []

    def pay(cents: int, tool_context: ToolContext) -> str:
        """Pay."""
        if tool_context.tool_confirmation is None:
            tool_context.request_confirmation(hint=f"Really {cents}?")
            return ""
        paid.append(cents)
        return f"paid {cents}"

    ours = FunctionTool(pay, require_confirmation=lambda cents: cents > 10)
    agent = agent_that_calls(to_pydantic_ai(ours), cents=99)
    asked = await agent.run("go", deps="ada")
    changed = ToolApproved(override_args={"cents": 1})
    result = await agent.run(
        message_history=asked.all_messages(),
        deferred_tool_results=DeferredToolResults(
            approvals={"c9": changed}, metadata=asked.output.metadata if tells else {}
        ),
        deps="ada",
    )
    assert 'with other arguments than were shown, {"cents": 1}' in result.output
    assert paid == []
