"""Data for people and programs is bounded like text: what is too large is kept apart, by name."""

import asyncio
import errno
import json
import os
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest

from toolwright import Agent, BlobPart, MaxOutput, Runner, UsageError, deferred_tool, tool
from toolwright.agent import _spill
from toolwright.backends.artifacts import BlobArtifacts
from toolwright.backends.artifacts._blobs import MemoryBlobs
from toolwright.messages import Scope, ToolEnded
from toolwright.models import ModelRequest
from toolwright.testing import ScriptedModel, call

pytestmark = pytest.mark.anyio
ROWS = [{"row": number, "odd": "\ud83d"} for number in range(20_000)]


@tool
def query() -> tuple[str, Any]:
    """Many rows."""
    return "20,000 rows", ROWS


@tool(max_output=MaxOutput(bytes=10_000_000))
def roomy() -> tuple[str, Any]:
    """Many rows, and room for them."""
    return "20,000 rows", ROWS


def runner_at(store: Path, *tools: Any) -> Runner:
    script = [*(call(t.name) for t in tools), "Done."]
    agent = Agent(name="a", model=ScriptedModel(*script), tools=tools)
    return Runner(agent, store=f"sqlite:///{store}/s.db", artifacts="memory://")


async def data_of(runner: Runner) -> list[Any]:
    return [e.result.data for e in await runner.events("s") if isinstance(e, ToolEnded)]


async def test_large_data_is_kept_by_name_and_read_whole(tmp_path: Path) -> None:
    async with runner_at(tmp_path, query, roomy) as runner:
        await runner.run("go", session_id="s")
        kept, whole = await data_of(runner)
        assert whole == ROWS
        assert kept["bytes"] > 500_000
        assert json.loads(await runner.output("s", kept["stored_as"])) == ROWS
        with pytest.raises(UsageError, match="no stored output 'nothing'"):
            await runner.output("s", "nothing")
        with pytest.raises(UsageError, match="no stored output"):
            await runner.output("s", "../" + kept["stored_as"] + "/../../x")


async def test_deleting_a_session_deletes_all_that_belongs_to_it(tmp_path: Path) -> None:
    async with runner_at(tmp_path, query) as runner:
        await runner.run("go", session_id="s")
        [kept] = await data_of(runner)
        scope = Scope(app_name="app", user_id="user", session_id="s")
        artifacts = runner.services.artifacts
        assert artifacts is not None
        for name in ("note.txt", "user:note.txt"):
            await artifacts.save(scope, name, BlobPart(media_type="text/plain", data=b"x"))
        await runner.delete("s")
        assert await artifacts.names(scope) == ["user:note.txt"]
        await runner.store.open(scope)
        with pytest.raises(UsageError, match="no stored output"):
            await runner.output("s", kept["stored_as"])


@pytest.mark.parametrize("ends", ["refused", "cancelled"])
@pytest.mark.parametrize("step", range(11))
async def test_a_session_whose_deletion_is_cut_short_can_be_deleted_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int, ends: str
) -> None:
    async with runner_at(tmp_path, query) as runner:
        await runner.run("go", session_id="s")
        scope = Scope(app_name="app", user_id="user", session_id="s")
        artifacts = runner.services.artifacts
        assert isinstance(artifacts, BlobArtifacts)
        kept = artifacts._blobs
        for name in ("a.txt", "b.txt"):
            await artifacts.save(scope, name, BlobPart(media_type="text/plain", data=b"x"))
        steps = iter(range(100))

        def cut(act: Any) -> Any:
            async def maybe(*args: Any) -> Any:
                if next(steps) == step:
                    raise OSError("away") if ends == "refused" else asyncio.CancelledError
                return await act(*args)

            return maybe

        with monkeypatch.context() as patch:
            blobs, store = type(kept), type(runner.store)
            for owner, name in ((blobs, "children"), (blobs, "delete"), (store, "delete")):
                patch.setattr(owner, name, cut(getattr(owner, name)))
            with pytest.raises((OSError, asyncio.CancelledError)):
                await runner.delete("s")
        assert await runner.sessions()
        await runner.delete("s")
        assert not await runner.sessions()
        assert isinstance(kept, MemoryBlobs)
        assert kept._blobs == {}, "neither a record nor bytes that no record leads to"


async def test_a_branch_reads_the_long_outputs_that_its_events_name(tmp_path: Path) -> None:
    asked: list[str] = []

    def go_on(request: ModelRequest) -> Any:
        return call("read_output", name=asked[0])

    model = ScriptedModel(call("query"), "Done.", go_on, "Read.")
    agent = Agent(name="a", model=model, tools=[query])
    async with Runner(agent, store=f"sqlite:///{tmp_path}/s.db") as runner:
        await runner.run("go", session_id="s")
        [kept] = await data_of(runner)
        asked.append(kept["stored_as"])
        await runner.branch("s", new_id="b")
        await runner.branch("b", new_id="c")
        await runner.delete("s")
        assert json.loads(await runner.output("b", kept["stored_as"])) == ROWS
        done = await runner.run("read on", session_id="b")
        read = [r for m in done.history if m.kind == "tool" for r in m.results][-1]
        assert (read.status, read.text[:8]) == ("ok", '[{"row":')
        await runner.delete("b")
        assert json.loads(await runner.output("c", kept["stored_as"])) == ROWS
        await runner.delete("c")


@pytest.mark.parametrize("code", ["EXDEV", "EMLINK", "EOPNOTSUPP", "ENOSYS", "EPERM", "EIO"])
async def test_a_branch_copies_the_long_outputs_where_there_are_no_hard_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise OSError(getattr(errno, code), "no links here")

    async with runner_at(tmp_path, query) as runner:
        await runner.run("go", session_id="s")
        [kept] = await data_of(runner)
        monkeypatch.setattr(os, "link", refuse)
        await runner.branch("s", new_id="b")
        await runner.delete("s")
        assert json.loads(await runner.output("b", kept["stored_as"])) == ROWS
        await runner.delete("b")


async def test_a_large_deferred_result_is_bounded_too(tmp_path: Path) -> None:
    @deferred_tool()
    def fetch() -> str:
        """Fetch something large, later."""
        return "begun"

    async with runner_at(tmp_path, fetch) as runner:
        paused = await runner.run("go", session_id="s")
        await runner.answer("s", paused.pending[0].call_id, ("many", "x" * 200_000))
        await runner.resume("s")
        [kept] = await data_of(runner)
        assert kept["bytes"] == 200_002


async def test_sessions_with_odd_names_keep_long_outputs_and_can_be_deleted(tmp_path: Path) -> None:
    async with runner_at(tmp_path, query) as runner:
        await runner.run("go", session_id="f\udcff", user_id="\ud800")
        [row] = await runner.sessions()
        await runner.delete(row.scope.session_id)
        assert await runner.sessions() == []


@pytest.mark.parametrize(("days", "kept"), [(6.9, True), (7.1, False)])
async def test_long_outputs_last_seven_days_after_the_last_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, days: float, kept: bool
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(_spill, "start_thread", lambda clean: clean())
    async with runner_at(tmp_path, query) as runner:
        await runner.run("go", session_id="s")
        [stored] = await data_of(runner)
        _age(tmp_path, days)
    async with runner_at(tmp_path, query) as runner:
        await runner.run("go", session_id="another")
        assert await _is_there(runner, stored["stored_as"]) == kept
        assert [e for e in await runner.events("s") if isinstance(e, ToolEnded)], "events stay"


async def test_long_outputs_stay_on_the_machine_that_made_them_and_the_session_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for machine in ("one", "two"):
        (tmp_path / machine).mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "one"))
    async with runner_at(tmp_path, query) as first:
        await first.run("go", session_id="s")
        name = (await data_of(first))[0]["stored_as"]
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "two"))
    async with runner_at(tmp_path) as second:
        with pytest.raises(UsageError, match=r"on this machine.*call the tool again"):
            await second.output("s", name)
        assert (await second.run("go on", session_id="s")).text == "Done."
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "one"))
    async with runner_at(tmp_path) as third:
        assert await _is_there(third, name)


def _age(temporary: Path, days: float) -> None:
    long_ago = time.time() - days * 24 * 3600
    # Also when somebody last looked for what is old.
    for found in temporary.glob("toolwright-*/*"):
        os.utime(found, (long_ago, long_ago))


async def _is_there(runner: Runner, name: str) -> bool:
    try:
        return json.loads(await runner.output("s", name)) == ROWS
    except UsageError:
        return False


async def test_a_session_of_the_same_name_elsewhere_has_its_own_outputs(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    async with runner_at(tmp_path, query) as here, runner_at(tmp_path / "b", query) as there:
        await here.run("go", session_id="s")
        await there.run("go", session_id="s")
        [kept], [other] = await data_of(here), await data_of(there)
        with pytest.raises(UsageError, match="no stored output"):
            await there.output("s", kept["stored_as"])
        await there.delete("s")
        assert json.loads(await here.output("s", kept["stored_as"])) == ROWS
        assert other["stored_as"] != kept["stored_as"]
