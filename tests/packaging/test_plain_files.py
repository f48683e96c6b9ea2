"""What others may have put in a file's place is refused at once, and never written through."""

import os
import socket
import stat
import threading
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import anyio
import pytest

from toolwright._mcp_env_file import read_env_file
from toolwright._mcp_file import read_mcp_file
from toolwright._private import read_plain_file, write_plain_file
from toolwright.backends import key_from_file, open_store, sqlite_address
from toolwright.backends.auth import SqliteCredentials, new_key
from toolwright.builtin import Skill
from toolwright.cli import _policy, _trust
from toolwright.errors import StoreError, UsageError
from toolwright.kits import read_agent_file
from toolwright.messages import Scope
from toolwright.sources import GoogleCredentialsConfig, OpenAPIToolset, PluginToolset

SCOPE = Scope(app_name="a", user_id="u", session_id="s")


def a_pipe(path: Path) -> None:
    os.mkfifo(path)


def a_socket(path: Path) -> None:
    # Its path must be short.
    here = os.open(path.parent, os.O_RDONLY)
    try:
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(f"/proc/self/fd/{here}/{path.name}")
    finally:
        os.close(here)


def a_device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def a_terminal(path: Path) -> None:
    path.symlink_to("/dev/tty")


def a_huge_file(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(10**10)


def a_directory(path: Path) -> None:
    path.mkdir()


PLANTED = (a_pipe, a_socket, a_device, a_terminal, a_huge_file, a_directory)


async def keep(path: Path) -> None:
    store = open_store(sqlite_address(path))
    try:
        await store.open(SCOPE)
    finally:
        await store.close()


async def digest(path: Path) -> None:
    toolset = PluginToolset(__file__)
    toolset._path = str(path)
    await toolset.file_digests()


def mark(path: Path) -> None:
    if not _trust._read(path):
        raise OSError("it says nothing")


READERS: dict[str, Callable[[Path], Any]] = {
    "agent file": read_agent_file,
    "lock": _policy._read,
    "mark of trust": mark,
    "servers": read_mcp_file,
    "variables": lambda path: read_env_file(path, "s"),
    "document": OpenAPIToolset,
    "skill": lambda path: Skill.from_directory(path.rename(path.with_name("SKILL.md")).parent),
    "plugin": lambda path: anyio.run(digest, path),
    "key": lambda path: key_from_file(path),
    "cloud key": lambda path: GoogleCredentialsConfig(service_account_json=str(path)).load(),
    "store": lambda path: anyio.run(keep, path),
    "credentials": lambda path: anyio.run(
        SqliteCredentials(path, keys=[new_key()]).load, SCOPE, "k"
    ),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "a-skill"
    folder.mkdir()
    return folder


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs Linux")
@pytest.mark.parametrize(
    ("what", "plant"),
    # A database is not read whole.
    [pair for pair in product(READERS, PLANTED) if pair != ("store", a_huge_file)],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_what_is_no_file_or_too_large_is_refused_at_once(
    what: str, plant: Callable[[Path], None], folder: Path
) -> None:
    path = folder / "file"
    plant(path)
    told: list[BaseException] = []

    def read() -> None:
        try:
            READERS[what](path)
        except BaseException as error:
            told.append(error)

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    thread.join(60)
    assert not thread.is_alive()
    [error] = told
    assert isinstance(error, UsageError | StoreError | OSError), error


@pytest.mark.parametrize("there", ["nothing", "a file", "a link", "a link to nothing", "a pipe"])
def test_a_file_is_put_in_its_place_and_nothing_is_written_through(
    there: str, tmp_path: Path
) -> None:
    victim, path = tmp_path / "victim", tmp_path / "file"
    victim.write_text("precious")
    match there:
        case "a file":
            path.write_text("old")
        case "a link":
            path.symlink_to(victim)
        case "a link to nothing":
            path.symlink_to(tmp_path / "nothing")
        case "a pipe":
            os.mkfifo(path)
    write_plain_file(path, b"new")
    assert victim.read_text() == "precious"
    assert (path.is_symlink(), path.read_bytes()) == (False, b"new")
    assert sorted(os.listdir(tmp_path)) == ["file", "victim"]


def test_what_cannot_be_put_there_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").mkdir()
    with pytest.raises(IsADirectoryError):
        write_plain_file(tmp_path / "file", b"new")
    with pytest.raises(FileNotFoundError):
        write_plain_file(tmp_path / "nowhere" / "file", b"new")
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize(("umask", "mode"), [(0, 0o644), (0o077, 0o600), (0o022, 0o644)])
def test_others_never_write_to_it(umask: int, mode: int, tmp_path: Path) -> None:
    before = os.umask(umask)
    try:
        write_plain_file(tmp_path / "file", b"new")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == mode


def test_a_file_that_is_as_long_as_it_may_be_is_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"12345")
    assert read_plain_file(tmp_path / "file", 5) == b"12345"
    with pytest.raises(OSError, match="longer than 4 bytes"):
        read_plain_file(tmp_path / "file", 4)
