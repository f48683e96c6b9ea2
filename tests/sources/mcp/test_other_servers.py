"""Other people's servers, in TypeScript and Python, over stdio."""

import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import anyio
import pytest
from tests._npm import npm_program
from tests.sources._calling import run_tool, tool_named
from tests.sources.mcp.conftest import stdio

from toolwright.sources import McpToolset

pytestmark = pytest.mark.anyio
VERSION = "2026.8.31"


@pytest.mark.npm
async def test_the_filesystem_server_reads_inside_its_folder_and_refuses_outside(
    tmp_path: Path,
) -> None:
    (tmp_path / "note.txt").write_text("hello from a file")
    program = npm_program("@modelcontextprotocol/server-filesystem", VERSION)
    files = McpToolset(
        stdio([*program, str(tmp_path)]),
        tool_filter=["read_text_file", "list_directory"],
        tool_name_prefix="fs",
    )
    try:
        tools = {tool.name: tool for tool in await files.list_tools()}
        read = tools["fs_read_text_file"]
        inside = await run_tool(read, {"path": str(tmp_path / "note.txt")})
        outside = await run_tool(read, {"path": "/etc/passwd"})
    finally:
        await files.close()
    assert sorted(tools) == ["fs_list_directory", "fs_read_text_file"]
    assert inside.text == "hello from a file"
    assert outside.status == "error"
    assert "denied" in outside.text


@pytest.mark.npm
async def test_the_memory_server_keeps_what_it_was_told(tmp_path: Path) -> None:
    program = npm_program("@modelcontextprotocol/server-memory", VERSION)
    params = stdio(program)
    params.server_params.env = {"MEMORY_FILE_PATH": str(tmp_path / "memory.json")}
    memory = McpToolset(params)
    entity = {"name": "Ada", "entityType": "person", "observations": ["likes tea"]}
    try:
        await run_tool(await tool_named(memory, "create_entities"), {"entities": [entity]})
        found = await run_tool(await tool_named(memory, "search_nodes"), {"query": "tea"})
    finally:
        await memory.close()
    assert found.data["entities"][0]["name"] == "Ada"


async def test_the_git_server_shows_a_repository(tmp_path: Path) -> None:
    await anyio.run_process(["git", "init", "-q", str(tmp_path)])
    (tmp_path / "new.txt").write_text("x")
    command = [sys.executable, "-m", "mcp_server_git", "--repository", str(tmp_path)]
    git = McpToolset(stdio(command))
    try:
        status = await tool_named(git, "git_status")
        output = await run_tool(status, {"repo_path": str(tmp_path)})
    finally:
        await git.close()
    assert status.effects == "read"
    assert "new.txt" in output.text


async def test_the_time_server_converts_between_zones() -> None:
    clock = McpToolset(stdio([sys.executable, "-m", "mcp_server_time"]))
    zones = {"source_timezone": "Europe/Oslo", "time": "12:00", "target_timezone": "Asia/Tokyo"}
    try:
        output = await run_tool(await tool_named(clock, "convert_time"), zones)
    finally:
        await clock.close()
    assert output.status == "ok"
    assert output.data["target"]["timezone"] == "Asia/Tokyo"


async def test_the_fetch_server_reads_a_page() -> None:
    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == "/" else 404)
            self.send_header("Content-Type", "text/plain")
            self.end_headers()
            self.wfile.write(b"A plain page.")

        def log_message(self, format: str, *args: object) -> None:
            pass

    web = HTTPServer(("127.0.0.1", 0), Page)
    Thread(target=web.serve_forever, daemon=True).start()
    fetch = McpToolset(stdio([sys.executable, "-m", "mcp_server_fetch", "--allow-private-ips"]))
    try:
        tool = await tool_named(fetch, "fetch")
        output = await run_tool(tool, {"url": f"http://127.0.0.1:{web.server_port}/"})
    finally:
        await fetch.close()
        web.shutdown()
        web.server_close()
    assert "A plain page." in output.text
