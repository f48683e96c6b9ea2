"""A person who plays the model: what they are shown, and lines that are no calls."""

import io
import json
import sys

import pytest

from toolwright.cli._me import PersonModel
from toolwright.messages import (
    BlobPart,
    History,
    ModelMessage,
    TextPart,
    ToolCall,
    ToolMessage,
    ToolResult,
    ToolSpec,
    user_message,
)
from toolwright.models import ModelRequest

pytestmark = pytest.mark.anyio
BASH = ToolSpec(name="bash", description="Runs a command.", parameters={"type": "object"})


async def plays(
    monkeypatch: pytest.MonkeyPatch, *lines: str, result: ToolResult | None = None
) -> ModelMessage:
    """What the model says whose lines the person types, after a call with this result."""
    monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
    history = History()
    history.append(user_message("go"))
    if result is not None:
        call = ToolCall(call_id=result.call_id, name=result.name)
        history.append(ModelMessage(parts=(call,)))
        history.append(ToolMessage((result,)))
    return await PersonModel().respond(ModelRequest(history=history.view(), tools=(BASH,)))


@pytest.mark.parametrize(
    ("line", "arguments"),
    [
        ('/bash command="echo hi"', {"command": "echo hi"}),
        ("/bash 'command=echo \"a b\"' timeout=5", {"command": 'echo "a b"', "timeout": 5}),
        ("/bash command='[1, 2]'", {"command": [1, 2]}),
        ("/bash command=a=b", {"command": "a=b"}),
        ("/bash command=", {"command": ""}),
        ("/bash", {}),
    ],
)
async def test_values_are_quoted_as_in_a_shell(
    monkeypatch: pytest.MonkeyPatch, line: str, arguments: dict[str, object]
) -> None:
    reply = await plays(monkeypatch, line)
    [call] = reply.calls
    assert (call.name, json.loads(call.arguments)) == ("bash", arguments)
    assert reply.finish_reason == "calls"


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("/", "There is no tool ''; /tools lists them."),
        ("/   ", "There is no tool ''"),
        ("/bsh command=ls", "There is no tool 'bsh'"),
        ("/bash echo", "'echo' is not key=value"),
        ("/bash =x", "'=x' is not key=value"),
        ("/bash command=echo hi", "'hi' is not key=value"),
        ("/bash command=a command=b", "'command' is given twice"),
        ("/bash command=don't", "No closing quotation. Quote as in a shell."),
    ],
)
async def test_a_line_that_is_no_call_is_told_and_another_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], line: str, told: str
) -> None:
    reply = await plays(monkeypatch, line, "Never mind.")
    assert (reply.text, reply.calls) == ("Never mind.", ())
    assert told in capsys.readouterr().err


async def test_a_command_that_failed_is_called_failed_and_a_picture_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    parts = (TextPart("[exit code 127]"), BlobPart(media_type="image/png", data=b"123"))
    result = ToolResult(call_id="c", name="bash", status="ok", content=parts, failed=True)
    await plays(monkeypatch, "bye", result=result)
    assert "  bash → failed: [exit code 127]\n[image/png, 3B]\n" in capsys.readouterr().err
