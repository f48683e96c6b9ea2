"""Our server in all scenarios of the official conformance suite."""

import socket
import sys
from pathlib import Path

import anyio
import pytest
from tests._npm import npm_program

pytestmark = [pytest.mark.anyio, pytest.mark.npm]
HERE = Path(__file__).parent
SUITE = ("@modelcontextprotocol/conformance", "0.1.16")
BASELINE = HERE.parent / "sources" / "mcp" / "conformance_baseline.yml"


async def test_every_server_scenario_passes_but_those_explained_in_the_baseline(
    tmp_path: Path,
) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = [sys.executable, str(HERE / "conformance_tools.py"), str(port)]
    async with await anyio.open_process(server) as process:
        await _reachable(port)
        url = f"http://127.0.0.1:{port}/mcp"
        done = await anyio.run_process(
            [*npm_program(*SUITE), "server", "--url", url, "--expected-failures", str(BASELINE)],
            cwd=tmp_path,
            check=False,
        )
        process.terminate()
    said = done.stdout.decode()
    assert "✓ tools-call-elicitation" in said
    assert done.returncode == 0, said[-3000:]


async def _reachable(port: int) -> None:
    with anyio.fail_after(20):
        while True:
            try:
                stream = await anyio.connect_tcp("127.0.0.1", port)
            except OSError:
                await anyio.sleep(0.05)
            else:
                await stream.aclose()
                return
