"""What a call costs through `McpToolset` beside the bare SDK, against the same servers.

Counted is the CPU time of this process: what the server takes is the same for both. The SDK is
asked for the same: a time limit and progress.
"""

import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import median

import anyio
from mcp import Client

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests._npm import npm_program
from tests.sources._calling import StubRun, context

from toolwright.sources import McpToolset, StdioConnectionParams, StdioServerParameters

CALLS, ROUNDS = 150, 15
LIMIT = 1.2
EVERYTHING = [*npm_program("@modelcontextprotocol/server-everything", "2026.8.31"), "stdio"]
OURS = [sys.executable, str(Path(__file__).parents[1] / "tests" / "serve" / "mcp_tools.py")]


async def ignore(progress: float, total: float | None, message: str | None) -> None:
    """Progress that nobody looks at."""


async def timed(call: Callable[[], Awaitable[object]]) -> float:
    """Milliseconds of CPU for one call, over many in a row."""
    start = time.process_time()
    for _ in range(CALLS):
        await call()
    return (time.process_time() - start) * 1000 / CALLS


async def compare(label: str, command: list[str], name: str, arguments: dict, raw: str) -> float:
    params = StdioServerParameters(command=command[0], args=command[1:])
    toolset = McpToolset(StdioConnectionParams(params))
    async with Client(params) as client:
        tool = next(tool for tool in await toolset.list_tools() if tool.name == name)
        ctx = context(tool, StubRun())

        async def bare() -> object:
            return await client.call_tool(
                name, arguments, read_timeout_seconds=300, progress_callback=ignore
            )

        async def ours() -> object:
            return await tool.run(tool.parse(raw), ctx)

        await timed(bare), await timed(ours)  # Warm both up.
        # In turns, so that whatever else the machine does hits both alike.
        pairs = [(await timed(bare), await timed(ours)) for _ in range(ROUNDS)]
    await toolset.close()
    sdk, mine = (median(times) for times in zip(*pairs, strict=True))
    ratio = mine / sdk
    verdict = "" if ratio <= LIMIT else f"   more than {LIMIT}!"
    print(f"{label:42} SDK {sdk:6.3f} ms   toolset {mine:6.3f} ms   ratio {ratio:.2f}{verdict}")
    return ratio


async def main() -> None:
    print(f"CPU of one call over stdio, median of {ROUNDS} rounds of {CALLS}")
    await compare(
        "server-everything (legacy protocol), echo",
        EVERYTHING,
        "echo",
        {"message": "hi"},
        '{"message": "hi"}',
    )
    await compare(
        "our own server (2026-07-28), add", OURS, "add", {"a": 1, "b": 2}, '{"a": 1, "b": 2}'
    )


if __name__ == "__main__":
    anyio.run(main)
