"""Each tenant gets an agent whose MCP file server sees that tenant's folder and nothing else."""

import asyncio
import tempfile
from collections.abc import Sequence
from pathlib import Path

from toolwright import (
    Agent,
    McpToolset,
    Result,
    Runner,
    StdioConnectionParams,
    StdioServerParameters,
)
from toolwright.testing import ScriptedModel, call

NPX = ("npx", "-y", "@modelcontextprotocol/server-filesystem")


def files_of(tenant: str, folder: Path, server: Sequence[str]) -> McpToolset:
    """The file tools of one tenant; the prefix keeps them apart from those of other toolsets."""
    command, *args = server
    return McpToolset(
        connection_params=StdioConnectionParams(
            server_params=StdioServerParameters(command=command, args=[*args, str(folder)]),
            timeout=60.0,
        ),
        tool_filter=["read_text_file", "list_directory"],
        tool_name_prefix=tenant,
    )


async def ask(tenant: str, folder: Path, wanted: str, server: Sequence[str]) -> Result:
    """Let a tenant's agent read a file; closing the runner stops the server."""
    model = ScriptedModel(call(f"{tenant}_read_text_file", path=wanted), "That is all I found.")
    agent = Agent(name="fs_agent", model=model, tools=[files_of(tenant, folder, server)])
    async with Runner(agent) as runner:
        return await runner.run(f"What does {wanted} say?")


def main(server: Sequence[str] = NPX) -> list[Result]:
    """Acme reads its own plan, and fails to read its neighbour's."""
    with tempfile.TemporaryDirectory() as root:
        folders = {name: Path(root).resolve() / name for name in ("acme", "zenith")}
        for name, folder in folders.items():
            folder.mkdir()
            (folder / "plan.txt").write_text(f"{name} will win")
        own, other = (str(folder / "plan.txt") for folder in folders.values())
        return [asyncio.run(ask("acme", folders["acme"], path, server)) for path in (own, other)]


if __name__ == "__main__":
    for result in main():
        print([answer.text for m in result.history if m.kind == "tool" for answer in m.results])
