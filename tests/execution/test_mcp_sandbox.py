"""Any MCP sandbox is an executor."""

import sys
from pathlib import Path

import pytest

from toolwright.backends import Limits
from toolwright.errors import StoreError, ToolError, UsageError
from toolwright.sources import McpSandbox
from toolwright.sources.mcp import StdioServerParameters

pytestmark = pytest.mark.anyio
SERVER = Path(__file__).with_name("_mcp_sandbox_server.py")


def server(workspace: Path) -> StdioServerParameters:
    return StdioServerParameters(command=sys.executable, args=[str(SERVER), str(workspace)])


async def test_commands_run_through_the_servers_tool(tmp_path: Path) -> None:
    async with McpSandbox(server(tmp_path), limits=Limits(output=1000)) as sandbox:
        done = await sandbox.run("echo out; echo err >&2; exit 3", env={"A": "b"})
        assert (done.stdout, done.stderr, done.exit_code) == ("out\n", "err\n", 3)
        assert (await sandbox.run("cat; echo $A", stdin="x", env={"A": "b"})).stdout == "xb\n"
        assert (await sandbox.run(["echo", "a  b", "$HOME"])).stdout == "a  b $HOME\n"
        await sandbox.write_file("sub/f.bin", b"\x00\xff")
        assert await sandbox.read_file("sub/f.bin") == b"\x00\xff"
        assert (tmp_path / "sub/f.bin").read_bytes() == b"\x00\xff"
        with pytest.raises(ToolError, match="Cannot read"):
            await sandbox.read_file("nope")
        odd = await sandbox.run("cat", stdin=b"a\xff\nb\n\n")
        assert odd.stdout == "a\ufffd\nb\n\n"
        assert (await sandbox.run("cat <<E\nhere")).stdout == "here\n"
        unended = await sandbox.run("echo 'no end")
        assert (unended.ok, unended.stdout, unended.stderr != "") == (False, "", True)
        large = bytes(range(256)) * 20
        (tmp_path / "large").write_bytes(large)
        assert await sandbox.read_file("large") == large
        (tmp_path / "huge").write_bytes(large * 1000)
        with pytest.raises(ToolError, match="did not arrive whole"):
            await sandbox.read_file("huge")
        late = await sandbox.run("sleep 20", limits=Limits(timeout=0.3))
        assert late.ended == "timeout"
        with pytest.raises(UsageError, match="no background jobs"):
            await sandbox.start("true")


async def test_a_server_that_cannot_be_started_is_a_store_error(tmp_path: Path) -> None:
    gone = StdioServerParameters(command=sys.executable, args=["-c", "raise SystemExit(1)"])
    async with McpSandbox(gone) as sandbox:
        with pytest.raises(StoreError, match="cannot be reached"):
            await sandbox.run("true")
