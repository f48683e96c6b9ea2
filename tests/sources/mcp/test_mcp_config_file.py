"""The `mcp.json` files of other clients."""

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.sources._calling import run_tool

import toolwright.models
from toolwright.backends.sandboxes import ServerSandbox
from toolwright.errors import UsageError
from toolwright.models import MODEL_KEYS
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


@pytest.mark.parametrize("name", sorted(MODEL_KEYS))
def test_the_key_of_a_models_provider_is_put_into_no_address_and_no_header(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "sk-secret")
    for server in (
        {"url": f"https://eve.test/${{{name}}}"},
        {"url": f"https://eve.test/${{env:{name}:-}}"},
        {"url": "https://eve.test", "headers": {"X": [f"a ${{{name}}}"]}},
    ):
        with pytest.raises(UsageError, match=f"'eve' in .* wants {name}, the key of") as caught:
            mcp_toolsets(write(tmp_path, {"eve": server}))
        assert "sk-secret" not in str(caught.value)
    started = {"command": "x", "env": {"KEY": f"${{{name}}}"}}
    (toolset,) = mcp_toolsets(write(tmp_path, {"mine": started}))
    params: Any = toolset.connection_params
    assert params.server_params.env == {"KEY": "sk-secret"}


def test_all_keys_that_models_read_are_known() -> None:
    folder = Path(toolwright.models.__file__).parent
    found = {
        name
        for file in folder.rglob("*.py")
        for name in re.findall(r'"([A-Z]+_(?:API_KEY|AUTH_TOKEN))"', file.read_text())
    }
    assert found == MODEL_KEYS


@pytest.mark.parametrize(
    ("cwd", "sandbox", "starts"),
    [
        ({}, None, "."),
        ({"cwd": None}, None, "."),
        ({"cwd": ""}, None, "."),
        ({"cwd": "in"}, None, "in"),
        ({}, ServerSandbox(), None),
        ({"cwd": None}, ServerSandbox(), None),
    ],
    ids=["beside", "null", "empty", "named", "sandbox", "sandbox null"],
)
def test_servers_start_beside_the_file_or_where_their_sandbox_is(
    tmp_path: Path, cwd: Any, sandbox: Any, starts: str | None
) -> None:
    file = write(tmp_path, {"a": {"command": "x", **cwd}})
    (toolset,) = mcp_toolsets(file, sandbox=sandbox)
    params: Any = toolset.connection_params
    assert params.server_params.cwd == (None if starts is None else tmp_path / starts)


@pytest.mark.parametrize(
    ("servers", "said"),
    [
        ({"a": {"command": "x", "cwd": 5}}, 'has no path as "cwd": 5'),
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
