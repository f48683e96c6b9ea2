"""What of the machine can be seen in a sandbox, above all by root, to whom everything would be open."""

import os
import socket
from pathlib import Path

import pytest

from toolwright.backends.sandboxes import Bubblewrap, Landlock, OsSandbox, ServerSandbox, Walls
from toolwright.backends.sandboxes._walls import SYSTEM_ETC
from toolwright.errors import UsageError

pytestmark = pytest.mark.anyio
LOOK = """
import os
private = ("net", "self", "thread-self")
for place, folders, files in os.walk("/proc"):
    folders[:] = [f for f in folders if not f.isdigit() and f not in private]
    for name in files:
        path = f"{place}/{name}"
        if os.access(path, os.W_OK):
            print("could be written:", path)
        # Settings can be read, but for those that do something when they are.
        if not place.startswith("/proc/sys") and not os.lstat(path).st_mode & 0o004:
            print("could be read:", path, open(path, "rb").read(1))
"""


async def test_nothing_of_the_kernels_can_be_written_and_its_tables_cannot_be_read(
    tmp_path: Path,
) -> None:
    async with await OsSandbox.open(tmp_path, Bubblewrap()) as sandbox:
        done = await sandbox.run(["python3", "-I", "-S", "-c", LOOK])
    assert (done.stderr, done.stdout) == ("", "")


async def test_the_same_holds_for_servers() -> None:
    async with ServerSandbox(walls=Bubblewrap()).open("python3", [], {}) as confined:
        words = confined.argv
    at = words.index("--proc")
    assert words[at : at + 2] == ["--proc", "/proc"]
    assert words[words.index("/proc", at + 2) - 1] == "--remount-ro"


def test_of_the_systems_settings_only_what_everybody_may_read_is_there() -> None:
    private = [
        path
        for name in SYSTEM_ETC
        for path in (Path("/etc", name), *Path("/etc", name).rglob("*"))
        if os.path.exists(path) and not path.stat().st_mode & 0o004
    ]
    assert private == []
    assert Path("/etc/ssl") not in {Path("/etc", name) for name in SYSTEM_ETC}


@pytest.mark.parametrize("walls", [Bubblewrap(), Landlock()], ids=["bubblewrap", "landlock"])
async def test_what_is_readable_cannot_be_talked_through(tmp_path: Path, walls: Walls) -> None:
    workspace, readable = tmp_path / "workspace", tmp_path / "readable"
    workspace.mkdir()
    (readable / "deep").mkdir(parents=True)
    (readable / "deep" / "file").write_text("text")
    pipe, gone = readable / "deep" / "pipe", readable / "gone"
    os.mkfifo(pipe)
    os.mkfifo(gone)
    ours = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
    code = f"""
import os, socket
def refused(work, *arguments):
    try:
        work(*arguments)
    except OSError:
        return True
print(refused(lambda: socket.socket(socket.AF_UNIX).connect({str(readable / "s")!r})))
print(refused(os.open, {str(pipe)!r}, os.O_WRONLY | os.O_NONBLOCK))
print(open({str(readable / "deep" / "file")!r}).read())
"""
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(readable / "s"))
        server.listen()
        server.setblocking(False)
        async with await OsSandbox.open(workspace, walls, readable=[readable]) as sandbox:
            gone.unlink()
            done = await sandbox.run(["python3", "-I", "-S", "-c", code])
        assert (done.stderr, done.stdout.split()) == ("", ["True", "True", "text"])
        with pytest.raises(BlockingIOError):
            server.accept()
        with pytest.raises(UsageError, match="is a socket or a pipe"):
            await OsSandbox.open(workspace, walls, readable=[readable / "s"])
    os.close(ours)


@pytest.mark.parametrize("walls", [Bubblewrap(), Landlock()], ids=["bubblewrap", "landlock"])
async def test_a_pipe_in_the_workspace_leads_outside_and_the_docs_say_so(
    tmp_path: Path, walls: Walls
) -> None:
    os.mkfifo(tmp_path / "pipe")
    outside = os.open(tmp_path / "pipe", os.O_RDWR | os.O_NONBLOCK)
    async with await OsSandbox.open(tmp_path, walls) as sandbox:
        assert (await sandbox.run("echo said > pipe")).ok
    assert os.read(outside, 100) == b"said\n"
    os.close(outside)
    page = Path(__file__).parents[2].joinpath("docs", "security.md").read_text(encoding="utf-8")
    assert "a named pipe **in the workspace**" in page.partition("## What remains open")[2]


async def test_what_replaces_a_pipe_below_a_readable_path_can_be_read(tmp_path: Path) -> None:
    workspace, readable = tmp_path / "workspace", tmp_path / "readable"
    for directory in (workspace, readable):
        directory.mkdir()
    for name in ("gone", "file", "directory", "link", "pipe"):
        os.mkfifo(readable / name)
    async with await OsSandbox.open(workspace, Bubblewrap(), readable=[readable]) as sandbox:
        for path in readable.iterdir():
            path.unlink()
        (readable / "file").write_text("text")
        (readable / "directory").mkdir()
        (readable / "link").symlink_to("nowhere")
        os.mkfifo(readable / "pipe")
        done = await sandbox.run(f"cd {readable} && cat file pipe; echo; ls")
    assert (done.stdout.split(), done.stderr) == (["text", "directory", "file", "link", "pipe"], "")


async def test_more_pipes_than_can_be_closed_off_are_refused_at_once(tmp_path: Path) -> None:
    workspace, readable = tmp_path / "workspace", tmp_path / "readable"
    workspace.mkdir()
    readable.mkdir()
    for number in range(1001):
        os.mkfifo(readable / str(number))
    with pytest.raises(UsageError, match="1001 sockets and pipes are below the readable paths"):
        await OsSandbox.open(workspace, Bubblewrap(), readable=[readable])
