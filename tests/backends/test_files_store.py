"""Files in a database and in the session's state."""

from pathlib import Path

import anyio
import pytest
from tests._postgres import new_database

from toolwright.backends import StateBackend, StoreBackend
from toolwright.backends.files import FileChanged
from toolwright.errors import UsageError
from toolwright.messages import member_key
from toolwright.tools import State, StateTable

pytestmark = pytest.mark.anyio


@pytest.mark.row("000-30")
async def test_files_in_a_database_are_shared_and_scoped(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/files.db"
    one, other = StoreBackend(url), StoreBackend(url)
    version = await one.write("/a.md", b"from one")
    assert (await other.read("/a.md")).data == b"from one"
    await other.write("/a.md", b"from the other", expected=version)
    with pytest.raises(FileChanged):
        await one.write("/a.md", b"too late", expected=version)
    mine = one.scoped("ada")
    assert await mine.ls("/") == []
    await mine.write("/a.md", b"mine")
    assert (await one.read("/a.md")).data == b"from the other"
    await one.close()
    await other.close()


def test_a_database_that_is_not_supported_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="not supported"):
        StoreBackend("mongodb://here/files")


@pytest.mark.row("000-29")
async def test_files_in_the_state_are_plain_json_and_recorded_in_the_delta() -> None:
    state = State(StateTable())
    files = StateBackend(state)
    await files.write("/a.md", b"text")
    await files.write("/b.bin", b"\xff\0")
    assert state.delta[member_key("files", "/a.md")]["content"] == "text"
    assert state.delta[member_key("files", "/b.bin")]["encoding"] == "base64"
    assert (await files.read("/b.bin")).data == b"\xff\0"


async def test_files_that_an_application_puts_into_the_state_as_text_can_be_read() -> None:
    files = StateBackend(State(StateTable({"files": {"/notes.md": "from outside"}})))
    assert (await files.read("/notes.md")).data == b"from outside"
    assert [entry.size for entry in await files.ls("/")] == [12]


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_of_a_file_and_one_below_it_that_are_written_at_once_one_is_refused(
    kind: str, tmp_path: Path
) -> None:
    url = new_database() if kind == "postgres" else f"sqlite:///{tmp_path}/files.db"
    one, other = StoreBackend(url), StoreBackend(url)
    refused: list[OSError] = []

    async def write(files: StoreBackend, path: str) -> None:
        try:
            await files.write(path, b"x")
        except OSError as error:
            refused.append(error)

    async with anyio.create_task_group() as group:
        for number in range(30):
            group.start_soon(write, one, f"/{number}")
            group.start_soon(write, other, f"/{number}/below")
    assert len(refused) == 30
    assert len(await one.ls("/")) == 30
    await one.close()
    await other.close()
