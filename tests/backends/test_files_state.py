"""Files in the session's state: each change is stored by itself, and all of them come back."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from toolwright import Agent, Limits, Runner
from toolwright.backends.files import StateBackend
from toolwright.builtin import file_tools
from toolwright.messages import Event, ToolEnded
from toolwright.testing import ScriptedModel, call
from toolwright.tools import State, StateTable

pytestmark = pytest.mark.anyio


def agent(*turns: Any) -> Agent:
    return Agent(
        name="a",
        model=ScriptedModel(*turns, "Done."),
        tools=list(file_tools(lambda ctx: StateBackend(ctx.state))),
        limits=Limits(turns=None),
    )


def deltas(events: Sequence[Event]) -> list[dict[str, Any]]:
    return [e.actions.state_delta for e in events if isinstance(e, ToolEnded) and e.actions]


def text(number: int) -> str:
    return f"line {number}: {number * 7919 % 104729}\n" * 100


def size(directory: Path) -> int:
    return sum(file.stat().st_size for file in directory.iterdir())


async def test_a_write_records_its_own_file_and_no_other() -> None:
    turns = [call("write_file", file_path=f"/d/{n}.txt", content=text(n)) for n in range(3)]
    result = await agent(*turns).run("go")
    assert [list(delta) for delta in deltas(result.events)] == [
        [f"files\x1f/d/{n}.txt"] for n in range(3)
    ]
    assert list(result.state["files"]) == ["/d/0.txt", "/d/1.txt", "/d/2.txt"]
    assert result.state["files"]["/d/1.txt"]["content"] == text(1)


async def test_two_hundred_writes_of_two_kilobytes_make_a_database_of_two_megabytes_at_most(
    tmp_path: Path,
) -> None:
    turns = [call("write_file", file_path=f"/{n}.txt", content=text(n)) for n in range(200)]
    async with Runner(agent(*turns), store=f"sqlite:///{tmp_path / 'a.db'}") as runner:
        await runner.run("go", session_id="s")
        assert len((await runner.state("s"))["files"]) == 200
    assert size(tmp_path) < 2 * 1024 * 1024


async def test_files_come_back_in_another_process_and_in_a_branch(tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path / 'a.db'}"
    first = agent(
        call("write_file", file_path="/a.txt", content="one"),
        call("write_file", file_path="/b.txt", content="two"),
        call("edit_file", file_path="/a.txt", old_string="one", new_string="three"),
    )
    async with Runner(first, store=address) as runner:
        result = await runner.run("go", session_id="s")
        upto = [e.seq for e in result.events if isinstance(e, ToolEnded)][1]
    again = agent(call("read_file", file_path="/a.txt"))
    async with Runner(again, store=address) as runner:
        result = await runner.run("go on", session_id="s")
        [shown] = [e.result.text for e in result.events if isinstance(e, ToolEnded)]
        assert "three" in shown
        branch = await runner.branch("s", upto=upto)
        files = (await runner.state(branch.scope.session_id))["files"]
        assert {path: file["content"] for path, file in files.items()} == {
            "/a.txt": "one",
            "/b.txt": "two",
        }


async def test_files_of_a_session_that_stored_them_all_together_are_still_there() -> None:
    state = State(StateTable({"files": {"/old.txt": {"content": "old"}}}))
    files = StateBackend(state)
    await files.write("/new.txt", b"new")
    assert (await files.read("/old.txt")).data == b"old"
    assert [entry.path for entry in await files.ls("/")] == ["/new.txt", "/old.txt"]
    again = StateBackend(
        State(StateTable({"files": {"/old.txt": {"content": "old"}}, **state.delta}))
    )
    assert (await again.read("/new.txt")).data == b"new"


async def test_a_file_and_a_directory_cannot_have_the_same_name() -> None:
    files = StateBackend(State(StateTable()))
    await files.write("/a/b/c.txt", b"")
    await files.write("/a/b-side.txt", b"")
    with pytest.raises(IsADirectoryError):
        await files.write("/a/b", b"")
    with pytest.raises(IsADirectoryError):
        await files.read("/a")
    with pytest.raises(NotADirectoryError):
        await files.write("/a/b/c.txt/d", b"")
    with pytest.raises(FileNotFoundError):
        await files.read("/a/b/d.txt")
