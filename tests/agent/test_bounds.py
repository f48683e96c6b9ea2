"""Long outputs: cut at a limit, kept for the session, read in pages, and not kept for ever."""

import gc
import os
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolwright import Agent, Runner, tool
from toolwright.agent import _spill
from toolwright.agent._spill import Spill
from toolwright.messages import BlobPart, ModelMessage, Scope, TextPart, ToolEnded, ToolMessage
from toolwright.models import ModelRequest
from toolwright.testing import ScriptedModel, call
from toolwright.tools import MaxOutput


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@tool
def numbers() -> str:
    """Fifty thousand lines."""
    return "\n".join(str(n) for n in range(50_000))


def kept(root: Path) -> list[Path]:
    return list(root.glob("toolwright-*/*/output-*"))


def read_again(request: ModelRequest) -> object:
    """Read a page of the output that the session has kept."""
    texts = [r.text for m in request.history if isinstance(m, ToolMessage) for r in m.results]
    [name] = set(re.findall(r"output-\w+\.txt", " ".join(texts)))
    return call("read_output", name=name, offset=40_000, limit=2)


@pytest.mark.anyio
async def test_a_stored_session_reads_on_after_a_restart(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/s.db"
    first = Agent(name="t", model=ScriptedModel(call("numbers"), "ok"), tools=[numbers])
    async with Runner(first, store=store) as runner:
        await runner.run("go", session_id="s")
    second = Agent(name="t", model=ScriptedModel(read_again, "ok"), tools=[numbers])
    async with Runner(second, store=store) as runner:
        message = (await runner.run("more", session_id="s")).history[-2]
        assert isinstance(message, ToolMessage)
        assert message.results[0].text.startswith("40000\n40001\n[9998 more lines")
        await runner.delete("s")
    assert kept(tmp_path) == []


@pytest.mark.anyio
async def test_the_outputs_of_a_run_that_nobody_stores_go_with_it(tmp_path: Path) -> None:
    seen: list[Path] = []

    def look(request: ModelRequest) -> str:
        seen.extend(kept(tmp_path))
        return "ok"

    await Agent(name="t", model=ScriptedModel(call("numbers"), look), tools=[numbers]).run("go")
    gc.collect()
    assert len(seen) == 1
    assert kept(tmp_path) == []


@pytest.mark.anyio
async def test_only_the_user_can_look_and_what_is_old_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_spill, "start_thread", lambda clean: clean())
    root = tmp_path / f"toolwright-{os.getuid()}"
    old = root / "old-session"
    root.mkdir(mode=0o700)
    old.mkdir()
    os.utime(old, (time.time() - 30 * 24 * 3600,) * 2)
    runner = Runner(Agent(name="t", model=ScriptedModel(call("numbers"), "ok"), tools=[numbers]))
    await runner.run("go", session_id="s")
    [file] = kept(tmp_path)
    assert not old.exists()
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def spill(session: str = "s") -> Spill:
    return Spill(Scope(app_name="app", user_id="u", session_id=session), born=1.0)


def test_of_all_processes_one_cleans_in_an_hour_and_nobody_waits_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[Callable[[], None]] = []
    monkeypatch.setattr(_spill, "start_thread", begun.append)
    spill("old").write("long")
    [old] = kept(tmp_path)
    os.utime(old.parent, (1.0, 1.0))
    for session in ("a", "b", "c"):
        spill(session).write("long")
    assert len(begun) == 1
    assert old.exists()
    mark = old.parent.parent / ".cleaned"
    hour_ago = time.time() - _spill.CLEAN_SECONDS - 1
    os.utime(mark, (hour_ago, hour_ago))
    spill("d").write("long")
    assert len(begun) == 2
    begun[1]()
    assert not old.exists()
    assert len(kept(tmp_path)) == 4


def test_what_another_process_removes_meanwhile_stops_neither_cleaning_nor_keeping(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[Callable[[], None]] = []
    monkeypatch.setattr(_spill, "start_thread", begun.append)
    mine = spill()
    mine.write("first")
    [file] = kept(tmp_path)
    shutil.rmtree(file.parent)
    assert mine.read(mine.write("second")) == "second"
    shutil.rmtree(file.parent.parent)
    begun[0]()


@pytest.mark.anyio
async def test_many_texts_are_bounded_together_and_images_stay() -> None:
    @tool
    def many() -> list[object]:
        """Many texts and an image."""
        image = BlobPart(media_type="image/png", data=b"\x89PNG")
        return [*(TextPart("x" * 40_000) for _ in range(20)), image]

    result = await Agent(name="t", model=ScriptedModel(call("many"), "ok"), tools=[many]).run("go")
    [ended] = [event for event in result.events if isinstance(event, ToolEnded)]
    assert len(ended.result.text) < 52_000
    assert isinstance(ended.result.content[-1], BlobPart)


@pytest.mark.anyio
async def test_a_page_is_never_cut_again() -> None:
    @tool
    def wide() -> str:
        """Wide lines."""
        return "\n".join(f"{n} " + "é" * 3000 for n in range(400))

    names: list[str] = []

    def page(request: ModelRequest) -> object:
        message = request.history[-1]
        assert isinstance(message, ToolMessage)
        names.extend(re.findall(r"'(output-\w+\.txt)'", message.results[0].text))
        offset = re.search(r"offset=(\d+)", message.results[0].text)
        return call("read_output", name=names[0], offset=int(offset[1])) if offset else "end"

    model = ScriptedModel(call("wide"), *[page] * 60)
    result = await Agent(name="t", model=model, tools=[wide]).run("go")
    pages = [e.result.text for e in result.events if isinstance(e, ToolEnded)]
    assert set(names) == {names[0]}
    assert sum(text.count("é") for text in pages) == 400 * 3000
    assert all(len(text.encode()) <= 50 * 1024 for text in pages[1:])


@settings(max_examples=60, deadline=None)
@given(text=st.text(max_size=3000), size=st.integers(1, 500), lines=st.integers(1, 50))
def test_what_is_shown_is_a_beginning_within_the_limits(text: str, size: int, lines: int) -> None:
    def say() -> str:
        """Say it."""
        return text

    said = tool(max_output=MaxOutput(bytes=size, lines=lines), name="say")(say)
    result = Agent(name="t", model=ScriptedModel(call("say"), "ok"), tools=[said]).run_sync("go")
    [ended] = [event for event in result.events if isinstance(event, ToolEnded)]
    shown, cut, _ = ended.result.text.rpartition("\n[Output truncated")
    shown = shown if cut else ended.result.text
    assert len(shown.encode()) <= size or (not cut and not text)
    assert shown.count("\n") < lines
    assert text.startswith(shown)


def test_the_model_is_only_told_of_paging_when_there_is_something_to_page() -> None:
    def no_paging(request: ModelRequest) -> ModelMessage:
        assert [spec.name for spec in request.tools] == ["numbers"]
        return ModelMessage(parts=(TextPart("ok"),))

    Agent(name="t", model=ScriptedModel(no_paging), tools=[numbers]).run_sync("go")


@pytest.mark.anyio
async def test_a_long_output_is_shown_in_part_when_the_rest_cannot_be_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def full(self: Spill, text: str) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Spill, "write", full)

    @tool
    def dump() -> str:
        """Dump everything."""
        return "line\n" * 5000

    result = await Agent(name="t", model=ScriptedModel(call("dump"), "."), tools=[dump]).run("go")
    [text] = [e.result.text for e in result.events if isinstance(e, ToolEnded)]
    assert text.startswith("line\nline\n")
    assert text.endswith("The rest could not be kept and is lost: OSError.]")
    assert result.status == "done"
