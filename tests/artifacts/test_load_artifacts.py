"""Agents save and read artifacts through their tools."""

from typing import Any

import pytest

from toolwright.agent import Agent, Runner
from toolwright.backends import MemoryArtifacts
from toolwright.builtin import load_artifacts
from toolwright.messages import BlobPart, TextPart, ToolEnded, ToolMessage
from toolwright.testing import ScriptedModel, call
from toolwright.tools import ToolContext, tool

pytestmark = pytest.mark.anyio

PNG = BlobPart(media_type="image/png", data=b"\x89PNG...")


@tool
async def export(tool_context: ToolContext) -> str:
    """Save three files."""
    await tool_context.save_artifact("user:notes.txt", TextPart("remember the milk"))
    await tool_context.save_artifact("chart.png", PNG, {"made_by": "export"})
    zipped = BlobPart(media_type="application/zip", data=b"PK\xff\xfe")
    return f"saved {await tool_context.save_artifact('all.zip', zipped)}"


async def _say(*turns: Any) -> tuple[ScriptedModel, Runner]:
    model = ScriptedModel(*turns)
    agent = Agent(name="a", model=model, tools=[export, load_artifacts])
    runner = Runner(agent, artifacts=MemoryArtifacts())
    await runner.run("go", session_id="s1")
    return model, runner


def _last_result(model: ScriptedModel) -> ToolMessage:
    message = model.requests[-1].history[-1]
    assert isinstance(message, ToolMessage)
    return message


@pytest.mark.row("004-X2e")
async def test_saved_artifacts_are_in_the_events_with_their_versions() -> None:
    _, runner = await _say(call("export"), "done")
    [ended] = [e for e in await runner.events("s1") if isinstance(e, ToolEnded)]
    assert ended.actions is not None
    assert ended.actions.artifact_delta == {"user:notes.txt": 0, "chart.png": 0, "all.zip": 0}


async def test_without_names_the_model_is_told_what_there_is() -> None:
    model, _ = await _say(call("load_artifacts"), call("export"), call("load_artifacts"), "done")
    assert _last_result(model).results[0].text == (
        "Artifacts: 'all.zip', 'chart.png', 'user:notes.txt'"
    )


@pytest.mark.row("004-M1c")
async def test_text_is_read_as_text_and_images_as_images() -> None:
    names = ["user:notes.txt", "chart.png", "all.zip"]
    model, _ = await _say(call("export"), call("load_artifacts", artifact_names=names), "done")
    content = _last_result(model).results[0].content
    assert content == (
        TextPart("[user:notes.txt: text/plain]\nremember the milk"),
        TextPart("[chart.png: image/png]"),
        BlobPart(media_type="image/png", data=PNG.data, name="chart.png"),
        TextPart(
            "[all.zip: application/zip]\n(4 bytes that are not text, so they cannot be shown here)"
        ),
    )


async def test_an_unknown_name_is_answered_with_the_known_ones() -> None:
    model, _ = await _say(
        call("export"), call("load_artifacts", artifact_names=["chart.jpg"]), "done"
    )
    result = _last_result(model).results[0]
    assert result.status == "error"
    assert "no artifact 'chart.jpg'" in result.text
    assert "'chart.png'" in result.text
