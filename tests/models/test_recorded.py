"""Recorded runs: the real model is asked once."""

from pathlib import Path

import pytest
from tests.models.requests import WEATHER, ask, texts

from toolwright import Agent, tool
from toolwright.errors import UsageError
from toolwright.models import Delta, ModelRequest
from toolwright.testing import RecordedModel, ScriptedModel, call


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def real() -> ScriptedModel:
    """Stands for the real model."""
    return ScriptedModel(call("add", a=1, b=2), "It is 3.", name="real:model")


def test_a_run_is_recorded_once_and_replayed_after_that(tmp_path: Path) -> None:
    path = tmp_path / "recordings" / "sum.jsonl"
    recording = RecordedModel(path, real())
    first = Agent(name="sums", model=recording, tools=[add]).run_sync("1 + 2?")

    replayed = RecordedModel(path)
    again = Agent(name="sums", model=replayed, tools=[add]).run_sync("1 + 2?")

    assert (recording.recording, replayed.recording) == (True, False)
    assert first.text == again.text == "It is 3."
    assert replayed.name == "real:model"


def test_asking_something_else_fails_and_says_what_was_recorded(tmp_path: Path) -> None:
    path = tmp_path / "sum.jsonl"
    Agent(name="sums", model=RecordedModel(path, real()), tools=[add]).run_sync("1 + 2?")

    with pytest.raises(UsageError, match=r"(?s)2 \+ 2.*left were to.*1 \+ 2"):
        Agent(name="sums", model=RecordedModel(path), tools=[add]).run_sync("2 + 2?")


def test_replies_can_be_played_in_order_whatever_is_asked(tmp_path: Path) -> None:
    path = tmp_path / "sum.jsonl"
    Agent(name="sums", model=RecordedModel(path, real()), tools=[add]).run_sync("1 + 2?")

    loose = RecordedModel(path, match="order")
    assert Agent(name="sums", model=loose, tools=[add]).run_sync("2 + 2?").text == "It is 3."


@pytest.mark.anyio
async def test_a_replay_streams_too(tmp_path: Path) -> None:
    path = tmp_path / "hi.jsonl"
    request = ask("Hello", tools=(WEATHER,))
    await RecordedModel(path, ScriptedModel("Hi there.")).respond(request)
    deltas: list[Delta] = []

    reply = await RecordedModel(path).respond(request, deltas.append)

    assert texts(deltas) == reply.text == "Hi there."


@pytest.mark.anyio
async def test_secrets_in_a_request_are_not_written_down(tmp_path: Path) -> None:
    path = tmp_path / "hi.jsonl"
    request: ModelRequest = ask("My key is sk-abcdefghijklmnopqrstuvwx")

    await RecordedModel(path, ScriptedModel("Noted.")).respond(request)

    assert "sk-abc" not in path.read_text()


def test_without_a_recording_a_model_is_needed(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no recording"):
        RecordedModel(tmp_path / "none.jsonl")


def test_a_file_that_is_no_recording_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text("hello")
    with pytest.raises(UsageError, match="is no recording"):
        RecordedModel(path)
