"""The whole of MCP, against the reference server that has one of everything."""

import anyio
import pytest
from tests.sources._calling import StubRun, run_tool, tool_named

from toolwright.errors import ArgumentError, ToolError
from toolwright.messages import BlobPart, TextPart
from toolwright.sources import McpToolset

pytestmark = [pytest.mark.anyio, pytest.mark.npm]


@pytest.mark.row("004-K1")
async def test_a_tool_is_listed_with_its_schema_and_called(everything: McpToolset) -> None:
    tool = await tool_named(everything, "get-sum")
    assert tool.spec.parameters["required"] == ["a", "b"]
    assert (await run_tool(tool, {"a": 2, "b": 40})).text == "The sum of 2 and 40 is 42."


async def test_arguments_are_validated_here_before_the_server_sees_them(
    everything: McpToolset,
) -> None:
    with pytest.raises(ArgumentError, match="'a'"):
        await run_tool(await tool_named(everything, "get-sum"), {"a": "much", "b": 1})


async def test_images_reach_the_model_as_images(everything: McpToolset) -> None:
    output = await run_tool(await tool_named(everything, "get-tiny-image"))
    (image,) = output.blobs
    assert image.media_type == "image/png"
    assert image.data is not None
    assert image.data.startswith(b"\x89PNG")


async def test_structured_content_goes_to_programs_and_its_text_to_the_model(
    everything: McpToolset,
) -> None:
    tool = await tool_named(everything, "get-structured-content")
    output = await run_tool(tool, {"location": "Chicago"})
    assert output.data.keys() == {"temperature", "conditions", "humidity"}
    assert '"humidity"' in output.text
    assert tool.spec.returns is not None


async def test_embedded_resources_and_links_are_readable(everything: McpToolset) -> None:
    tool = await tool_named(everything, "get-resource-reference")
    embedded = await run_tool(tool, {"resourceType": "Text", "resourceId": 1})
    links = await run_tool(await tool_named(everything, "get-resource-links"), {"count": 2})
    assert "This is a plaintext resource" in embedded.text
    assert "demo://resource/dynamic/" in links.text


async def test_annotations_say_what_a_tool_does_to_the_world(everything: McpToolset) -> None:
    assert (await tool_named(everything, "echo")).effects == "read"
    assert (await tool_named(everything, "echo")).idempotent


async def test_an_error_of_the_tool_is_an_error_for_the_model(everything: McpToolset) -> None:
    tool = await tool_named(everything, "gzip-file-as-resource")
    output = await run_tool(tool, {"name": "x", "data": "ftp://nowhere", "outputType": "resource"})
    assert output.status == "error"


async def test_progress_is_shown_while_the_tool_runs(everything: McpToolset) -> None:
    run = StubRun()
    tool = await tool_named(everything, "trigger-long-running-operation")
    await run_tool(tool, {"duration": 0.3, "steps": 3}, run=run)
    assert [data["progress"] for _, data in run.shown] == [1, 2, 3]


async def test_a_cancelled_call_leaves_the_connection_working(everything: McpToolset) -> None:
    slow = await tool_named(everything, "trigger-long-running-operation")
    with anyio.move_on_after(0.2) as scope:
        await run_tool(slow, {"duration": 60, "steps": 2})
    assert scope.cancelled_caught
    assert (
        await run_tool(await tool_named(everything, "echo"), {"message": "hi"})
    ).text == "Echo: hi"


async def test_the_server_may_use_the_agents_model_when_it_is_allowed_to(
    everything: McpToolset,
) -> None:
    run = StubRun()
    tool = await tool_named(everything, "trigger-sampling-request")
    output = await run_tool(tool, {"prompt": "Say something", "maxTokens": 50}, run=run)
    ((prompt, _, max_tokens),) = run.sampled
    assert "Say something" in prompt[0].text
    assert max_tokens == 50
    assert "sampled" in output.text


async def test_what_the_server_asks_of_a_person_becomes_a_pending_call(
    everything: McpToolset,
) -> None:
    tool = await tool_named(everything, "trigger-elicitation-request")
    asked = await run_tool(tool)
    assert asked.status == "pending"
    assert asked.request is not None
    assert asked.request.kind == "input"
    assert asked.request.schema is not None
    assert "name" in asked.request.schema["properties"]

    answered = await run_tool(tool, answers=[(asked, {"name": "Ada"})])
    assert answered.status == "ok"
    assert "Ada" in answered.text


async def test_roots_are_told_to_the_server(everything: McpToolset) -> None:
    output = await run_tool(await tool_named(everything, "get-roots-list"))
    assert "/tmp/some-root" in output.text


@pytest.mark.row("004-K5")
async def test_resources_are_read_through_a_tool_that_lists_them(everything: McpToolset) -> None:
    tool = await tool_named(everything, "load_mcp_resource")
    assert "demo://resource/static/document/features.md" in tool.description
    page = await run_tool(tool, {"uri": "demo://resource/static/document/features.md"})
    blob = await run_tool(tool, {"uri": "demo://resource/dynamic/blob/1"})
    assert "#" in page.text
    assert isinstance(blob.parts[0], BlobPart)
    with pytest.raises(ToolError, match="everything"):
        await run_tool(tool, {"uri": "demo://no/such/thing"})


async def test_prompts_become_messages(everything: McpToolset) -> None:
    names = [prompt.name for prompt in await everything.list_prompts()]
    (message,) = await everything.get_prompt("args-prompt", {"city": "Oslo"})
    assert "simple-prompt" in names
    assert message.kind == "user"
    assert isinstance(message.parts[0], TextPart)
    assert "Oslo" in message.parts[0].text
    assert (message.parts[0].source or "").startswith("mcp:"), "it is not what the person says"
