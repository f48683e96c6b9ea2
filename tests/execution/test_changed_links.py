"""Whatever becomes a link where commands can write, nothing outside becomes readable or writable by it."""

import sys
from pathlib import Path

import anyio
import pytest

from toolwright.backends import Bubblewrap, Landlock, ServerSandbox, open_sandbox
from toolwright.backends.sandboxes import Walls
from toolwright.errors import UsageError

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("walls", [Bubblewrap(), Landlock()])]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A workspace with a file and a directory, beside a secret."""
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "key").write_text("canary")
    workspace = tmp_path / "workspace"
    (workspace / "tools").mkdir(parents=True)
    (workspace / "tools" / "key").write_text("own")
    return workspace


@pytest.mark.parametrize("named", ["tools", "tools/key", ".", "tools/../tools/key"])
async def test_what_is_readable_in_the_workspace_is_read_there_and_nowhere_else(
    walls: Walls, named: str, workspace: Path
) -> None:
    readable = workspace / named
    async with await open_sandbox(workspace, readable=[readable], walls=[walls]) as sandbox:
        before = await sandbox.run(["cat", str(workspace / "tools" / "key")])
        changed = await sandbox.run("rm -r tools && ln -s ../secret tools")
        after = await sandbox.run(["cat", str(workspace / "tools" / "key")])
        real = await sandbox.run(["cat", str(workspace.parent / "secret" / "key")])
    assert (before.stdout, changed.exit_code) == ("own", 0)
    assert "canary" not in after.stdout + real.stdout


@pytest.mark.parametrize("target", ["key", "."])
async def test_an_argument_of_a_server_leads_nowhere_else_after_a_restart(
    walls: Walls, target: str, workspace: Path
) -> None:
    file = workspace / "tools" / "key"
    box = ServerSandbox(workspace=workspace, walls=walls)

    async def start(code: str) -> bytes:
        async with box.open(sys.executable, ["-c", code, str(file)], {}) as confined:
            done = await anyio.run_process(confined.argv, env=confined.env, check=False)
            return done.stdout

    assert await start("import sys; print(open(sys.argv[1]).read())") == b"own\n"
    secret = workspace.parent / "secret"
    link = f"os.unlink('tools/key'); os.symlink({str(secret / target)!r}, 'tools/key')"
    await start(f"import os; {link}")
    assert file.is_symlink()
    assert await start("import sys; print(open(sys.argv[1]).read())") == b""
    assert await start(f"print(open({str(secret / 'key')!r}).read())") == b""


async def test_a_way_outside_that_leads_through_the_workspace_is_refused(
    walls: Walls, workspace: Path, tmp_path: Path
) -> None:
    (workspace / "on").symlink_to("../secret")
    (tmp_path / "way").symlink_to("workspace/on")
    for readable in (tmp_path / "way", tmp_path / "way" / "key"):
        with pytest.raises(UsageError, match=r"leads through .*workspace"):
            await open_sandbox(workspace, readable=[readable], walls=[walls])
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    (workspace / "run").symlink_to(program)
    box = ServerSandbox(workspace=workspace, walls=walls)
    with pytest.raises(UsageError, match="lies where the server may change it"):
        async with box.open(str(workspace / "run"), [], {}):
            pass
    cached = ServerSandbox(workspace=workspace, cache=workspace / "cache", walls=walls)
    with pytest.raises(UsageError, match="writable and lies in the workspace"):
        async with cached.open(sys.executable, [], {}):
            pass
