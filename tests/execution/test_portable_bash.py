"""Portable bash runs in a process of its own: whatever a script does, it does to itself."""

from pathlib import Path

import anyio
import pytest

from toolwright.backends import Limits, PortableSandbox
from toolwright.errors import ToolError

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    "script",
    ["x='eval \"$x\"'; eval \"$x\"", "command " * 3000 + "true", "exec " * 3000 + "true",
     "f() { f; }; f", "echo " + "$(" * 3000 + ")" * 3000],
)  # fmt: skip
async def test_no_script_ends_the_program_that_runs_it(tmp_path: Path, script: str) -> None:
    async with await PortableSandbox.open(tmp_path) as sandbox:
        done = await sandbox.run(script)
        assert (await sandbox.run("echo still here")).stdout == "still here\n"
    assert done.exit_code != 0 or done.stdout == "\n"


async def test_a_crash_is_told_and_what_was_printed_before_is_kept(tmp_path: Path) -> None:
    async with await PortableSandbox.open(tmp_path) as sandbox:
        done = await sandbox.run('echo before; x=\'eval "$x"\'; eval "$x"')
    assert (done.ok, done.stdout, done.stderr) == (False, "before\n", "The interpreter crashed.\n")


async def test_memory_is_limited_by_the_kernel(tmp_path: Path) -> None:
    (tmp_path / "lines").write_bytes(b"a\n" * 2_500_000)
    script, limits = "sort lines | wc -l", Limits(memory=64 * 2**20)
    async with await PortableSandbox.open(tmp_path) as sandbox:
        assert (await sandbox.run(script)).stdout.strip() == "2500000"
        done = await sandbox.run(script, limits=limits)
        assert (done.ok, done.stdout) == (False, "")
        assert (await sandbox.run("seq 5 | sort -r | head -1", limits=limits)).stdout == "5\n"


async def test_time_is_limited_from_outside_and_partial_output_is_kept(tmp_path: Path) -> None:
    async with await PortableSandbox.open(tmp_path) as sandbox:
        with anyio.fail_after(20):
            done = await sandbox.run("echo early; sleep 60", limits=Limits(timeout=0.5, grace=0))
    assert (done.ended, done.stdout) == ("timeout", "early\n")


async def test_the_size_of_a_file_is_limited(tmp_path: Path) -> None:
    async with await PortableSandbox.open(tmp_path) as sandbox:
        await sandbox.run("seq 50000 > big", limits=Limits(file_size=65536))
        assert written(tmp_path) <= 65536
        await sandbox.run("seq 50000 > big")
    assert (tmp_path / "big").stat().st_size > 65536


def written(directory: Path) -> int:
    return sum(path.stat().st_size for path in directory.iterdir())


async def test_a_file_too_large_to_hold_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "huge").open("wb") as file:
        file.truncate(65 * 2**20)
    async with await PortableSandbox.open(tmp_path) as sandbox:
        with pytest.raises(ToolError, match="larger than"):
            await sandbox.read_file("huge")
        await sandbox.write_file("deep/down/note", b"\x00\xff")
        assert await sandbox.read_file("deep/down/note") == b"\x00\xff"
        with pytest.raises(ToolError, match="Cannot read 'nowhere'"):
            await sandbox.read_file("nowhere")
