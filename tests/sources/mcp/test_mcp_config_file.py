"""The `mcp.json` files of other clients."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.sources._calling import run_tool

from toolwright.errors import UsageError
from toolwright.sources import mcp_toolsets


def write(path: Path, servers: dict[str, Any]) -> Path:
    file = path / "mcp.json"
    file.write_text(json.dumps({"mcpServers": servers}))
    return file


@pytest.mark.anyio
async def test_servers_of_a_file_are_started_and_their_tools_prefixed(tmp_path: Path) -> None:
    clock = {"command": sys.executable, "args": ["-m", "mcp_server_time"]}
    off = {"command": "never", "disabled": True}
    (toolset,) = mcp_toolsets(write(tmp_path, {"my clock": clock, "off": off}))
    try:
        tools = {tool.name: tool for tool in await toolset.list_tools()}
        output = await run_tool(tools["my_clock_get_current_time"], {"timezone": "UTC"})
    finally:
        await toolset.close()
    assert output.data["timezone"] == "UTC"


def test_variables_come_from_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HUB_TOKEN", "t0ken")
    hub = {
        "url": "https://${HUB_HOST:-hub.test}/mcp",
        "headers": {"Authorization": "Bearer ${env:HUB_TOKEN}"},
    }
    (toolset,) = mcp_toolsets(write(tmp_path, {"hub": hub}))
    params: Any = toolset.connection_params
    assert params.url == "https://hub.test/mcp"
    assert params.headers == {"Authorization": "Bearer t0ken"}
    assert "t0ken" not in repr(params)


@pytest.mark.parametrize(
    ("servers", "said"),
    [
        ({"a": {"url": "https://x.test", "type": "carrier-pigeon"}}, "carrier-pigeon"),
        ({"a": {"args": []}}, 'neither "command" nor "url"'),
        ({"a": {"command": "${NOT_SET_ANYWHERE}"}}, "NOT_SET_ANYWHERE"),
        ({"a": "npx"}, "mcpServers"),
    ],
)
def test_a_file_that_is_wrong_says_where(servers: Any, said: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=said):
        mcp_toolsets(write(tmp_path, servers))


def test_a_file_that_is_not_there_or_not_json_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="There is no MCP configuration"):
        mcp_toolsets(tmp_path / "mcp.json")
    (tmp_path / "mcp.json").write_text("{")
    with pytest.raises(UsageError, match="is not JSON"):
        mcp_toolsets(tmp_path / "mcp.json")
