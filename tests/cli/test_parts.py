"""Pictures, sounds and files on the command line: none is left out, wherever results are shown."""

import base64
import json
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.cli.program import here
from tests.cli.test_show_rich import shown

from toolwright.agent import START, Agent, BaseAgent, Workflow
from toolwright.cli._parts import all_parts, named_files
from toolwright.cli._sessions import _said
from toolwright.cli._show import PlainShow
from toolwright.cli._tasks import tasks_show
from toolwright.messages import (
    BlobPart,
    ModelMessage,
    ModelReplied,
    TextPart,
    ToolEnded,
    ToolResult,
    UserMessage,
)
from toolwright.tasks import Orchestrator
from toolwright.testing import ScriptedModel

BYTES = bytes([0xFB, 0xFF, 0xFE, 0x3E, 0x3F]) * 21
AGENT = """\
from toolwright import Agent, BlobPart, tool
from toolwright.testing import ScriptedModel, call

BYTES = bytes([0xFB, 0xFF, 0xFE, 0x3E, 0x3F]) * 21
PICTURE = BlobPart(media_type="image/png", data=BYTES, name="a.png")


@tool
def picture() -> BlobPart:
    "A picture."
    return PICTURE


@tool
def raw() -> bytes:
    "Bytes."
    return BYTES


@tool
def both() -> list:
    "Text, and a picture."
    return ["see:", PICTURE]


turns = [call("picture"), call("raw"), call("both"), "Done."]
agent = Agent(name="p", model=ScriptedModel(*turns), tools=[picture, raw, both])
"""
PICTURE = BlobPart(media_type="image/png", data=BYTES, name="a.png")
PAINTED = ModelMessage(parts=(TextPart("Here:"), PICTURE))
LINE = "[a.png: image/png, 105B]"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "a.py").write_text(AGENT)
    return tmp_path


def test_a_call_by_hand_has_every_part_as_the_http_api_has_it(place: Path) -> None:
    printed = {
        name: json.loads(here("tools", "call", name, "-a", "a:agent", cwd=place).stdout)
        for name in ("picture", "raw", "both")
    }
    part = printed["picture"]["content"][0]
    assert part == {
        "kind": "blob",
        "media_type": "image/png",
        "name": "a.png",
        "data": base64.b64encode(BYTES).decode(),
    }
    assert printed["both"]["output"] == "see:"
    assert printed["both"]["content"] == [{"kind": "text", "text": "see:"}, part]
    assert base64.b64decode(printed["raw"]["content"][0]["data"]) == BYTES


def test_a_run_and_its_session_name_every_part(place: Path) -> None:
    agent = ("-a", "a:agent", "--store", "sqlite:///s.db")
    ran = here("run", "go", *agent, cwd=place)
    assert f"[picture] {LINE}\n" in ran.stderr
    assert f"[both] {LINE}\n" in ran.stderr
    assert "[raw] [" in ran.stderr
    assert ran.stdout == "Done.\n"
    session = json.loads(here("sessions", "list", "--json", *agent, cwd=place).stdout)["id"]
    told = here("sessions", "show", session, *agent, cwd=place).stdout
    assert f"picture → ok: {LINE}\n" in told
    assert f"both → ok: see: {LINE}\n" in told
    assert "raw → ok: [application/octet-stream, 105B]\n" in told


def test_a_session_names_what_the_person_and_the_model_bring() -> None:
    assert _said(UserMessage((TextPart("look"), PICTURE))) == f"> look\n{LINE}"
    assert _said(ModelMessage(parts=(TextPart("Here:"), PICTURE))) == f"Here:\n{LINE}"


def ended(*parts: TextPart | BlobPart, status: str = "ok") -> ToolEnded:
    return ToolEnded(result=ToolResult(call_id="c", name="draw", status=status, content=parts))  # type: ignore[bad-argument-type]


def test_a_person_at_a_terminal_sees_every_part() -> None:
    assert shown(ended(PICTURE))[1:] == [f"  ✓ {LINE}"]
    assert shown(ended(TextPart("see:\nmore"), PICTURE))[1:] == [
        "  ✓ see: (+1 lines)",
        f"    {LINE}",
    ]
    assert shown(ended())[1:] == ["  ✓ "]
    reply = ModelMessage(parts=(TextPart("Here:"), PICTURE))
    assert shown(ModelReplied(message=reply)) == ["Here:", LINE]


def test_a_log_names_what_a_failed_call_and_a_model_bring(
    capsys: pytest.CaptureFixture[str],
) -> None:
    PlainShow()(ended(TextPart("broken"), PICTURE, status="error"))
    PlainShow()(ModelReplied(message=ModelMessage(parts=(PICTURE,))))
    assert capsys.readouterr().err == f"[draw] error: broken\n{LINE}\n{LINE}\n"


def test_a_part_is_one_line_whatever_its_name_is() -> None:
    there = BlobPart(media_type="audio/wav", url="https://x.test/a.wav")
    odd = BlobPart(media_type="a/b", data=b"", name="x\n\x1b[31m> y")
    assert named_files([TextPart("t"), there]) == ["[audio/wav, https://x.test/a.wav]"]
    [line] = named_files([odd])
    assert line.isprintable()
    assert line.endswith("a/b, 0B]")
    assert all_parts([TextPart("a"), PICTURE, TextPart("b")]) == f"a\n{LINE}\nb"


def painting(steps: int) -> BaseAgent:
    """An agent that paints; as a step of a workflow, and with a step after it."""
    painter = Agent(name="painter", model=ScriptedModel(PAINTED))
    if not steps:
        return painter

    def count(text: str) -> str:
        return f"{len(text)} letters"

    nodes: dict[str, Any] = {"paint": painter, "count": count}
    edges = [(START, "paint"), ("paint", "count")]
    first = dict(list(nodes.items())[:steps])
    return Workflow(name="flow", nodes=first, edges=edges[:steps])


@pytest.mark.parametrize(
    ("steps", "text", "shown"),
    [(0, "Here:", [LINE]), (1, "Here:", [LINE]), (2, "5 letters", [])],
    ids=["agent", "last", "before"],
)
def test_a_picture_in_the_answer_of_a_task_is_shown_with_it(
    place: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    steps: int,
    text: str,
    shown: list[str],
) -> None:
    monkeypatch.chdir(place)

    async def work() -> str:
        agent, made = painting(steps), Orchestrator("sqlite:///tasks.db")
        made.register(agent)
        task_id = await made.enqueue(agent, "paint")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(made.worker().run)
            await made.wait(task_id, timeout=10)
            tasks.cancel_scope.cancel()
        await made.close()
        return task_id

    assert tasks_show(anyio.run(work)) == 0
    told = capsys.readouterr().out
    assert json.dumps(text) in told
    assert told.rpartition("}\n")[2].splitlines() == shown
