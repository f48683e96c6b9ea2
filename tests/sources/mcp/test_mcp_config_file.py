"""The `mcp.json` files of other clients."""

import json
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.sources._calling import run_tool

import toolwright.models
from toolwright.backends.sandboxes import ServerSandbox
from toolwright.errors import UsageError
from toolwright.models import MODEL_KEYS
from toolwright.sources import (
    SseConnectionParams,
    StreamableHTTPConnectionParams,
    mcp_toolsets,
)


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
def test_the_key_of_a_models_provider_is_put_into_no_address_header_or_argument(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "sk-secret")
    for server in (
        {"url": f"https://eve.test/${{{name}}}"},
        {"url": f"https://eve.test/${{env:{name}:-}}"},
        {"url": "https://eve.test", "headers": {"X": [f"a ${{{name}}}"]}},
        {"command": "mcp-remote", "args": ["--header", f"Authorization: ${{{name}}}"]},
        {"command": "curl", "args": [f"${{{name}}}"]},
        {"command": f"./${{{name}}}"},
        {"command": "x", "cwd": f"${{{name}}}"},
        {"command": "x", "envFile": f"${{{name}:-.env}}"},
        {"command": "x", "env": {"BASE_URL": f"https://eve.test/${{{name}}}"}},
        {"command": "x", "env": {"BASE_URL": f"${{NO_SUCH:-}}${{{name}}}"}},
        {"command": "x", "env": {"BASE_URL": f"${{{name}}}${{{name}"}},
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
    assert found <= MODEL_KEYS


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
        ({"a": {"command": "x", "cwd": 5}}, 'has no text as "cwd" but a value of type int'),
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


# -- what other clients write -----------------------------------------------------------------------


def params_of(file: Path) -> Any:
    (toolset,) = mcp_toolsets(file)
    return toolset.connection_params


def test_the_file_of_an_editor_is_read_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("my_tok", "t0ken")
    (tmp_path / ".env").write_text(
        "# secrets\n\nexport A=1\nB = 'two # words'\nC=\"x\\ny\"  # c\nD=plain # comment\nTOKEN=old\nE=\n"
    )
    (tmp_path / ".vscode").mkdir()
    file = tmp_path / ".vscode" / "mcp.json"
    file.write_text(
        """\ufeff// Servers of this project
        {"inputs": [{"id": "my-tok", "type": "promptString", "password": true}], /* asked
        for */ "servers": {"s": {"type": "stdio", "command": "server",
          "args": ["--root", "${workspaceFolder}", "http://a//b", "/* no, a comment, */", ",]",
                   "${workspaceFolderBasename}${/}${pathSeparator}", "${x%y}",],
          "envFile": "${workspaceFolder}/.env", "env": {"TOKEN": "${input:my-tok}", "N": 5, "Z": null},
          "cwd": null, "_comment": "mine", "autoApprove": ["x"],
        },},}"""
    )
    started = params_of(file).server_params
    text = ["http://a//b", "/* no, a comment, */", ",]", f"{tmp_path.name}//", "${x%y}"]
    assert started.args == ["--root", str(tmp_path), *text]
    assert started.cwd == tmp_path
    assert started.env == {
        "A": "1",
        "B": "two # words",
        "C": "x\ny",
        "D": "plain",
        "E": "",
        "TOKEN": "t0ken",
        "N": "5",
    }


@pytest.mark.parametrize("written", ["${userHome}/x", "${UNSET_HERE:-}${userHome}/x"])
def test_the_persons_home_is_known(tmp_path: Path, written: str) -> None:
    file = write(tmp_path, {"a": {"command": written}})
    assert params_of(file).server_params.command == f"{Path.home()}/x"


@pytest.mark.parametrize(
    ("fields", "keep", "left"),
    [
        ({}, None, "a b_c d"),
        ({"disabledTools": ["a", "b.c"]}, None, "d"),
        ({"excludeTools": ["d"], "disabledTools": ["a"]}, None, "b_c"),
        ({"includeTools": ["a", "b.c"]}, None, "a b_c"),
        ({"includeTools": ["a", "d"], "excludeTools": ["a"]}, None, "d"),
        ({"tools": ["*"]}, None, "a b_c d"),
        ({"tools": []}, None, ""),
        ({"tools": ["*"], "includeTools": ["a"]}, None, "a"),
        ({"disabledTools": ["*"]}, None, ""),
        ({"disabledTools": ["b*"]}, None, "a d"),
        ({"disabledTools": ["b.?"]}, None, "a d"),
        ({"disabledTools": ["?"]}, None, "b_c"),
        ({"disabledTools": ["a_*c"]}, None, "a d"),
        ({"disabledTools": ["B*", "x*", "[ab]"]}, None, "a b_c d"),
        ({"includeTools": ["*c", "a"]}, None, "a b_c"),
        ({"includeTools": ["?"], "disabledTools": ["d*"]}, None, "a"),
        ({"disabledTools": ["*"], "tools": ["a"]}, None, ""),
        ({"disabledTools": ["a_d", "a_b.c"]}, None, "a"),
        ({"tools": ["a_d"]}, None, ""),
        ({"includeTools": ["a", "d"], "enabledTools": ["d", "b.c"]}, None, "d"),
        ({"includeTools": ["a", "d"], "enabledTools": ["*"], "tools": ["a"]}, None, "a"),
        ({"includeTools": ["a"], "tools": []}, None, ""),
        ({"disabledTools": ["a"]}, ["a", "d"], "d"),
        ({"disabledTools": ["a"]}, lambda tool, ctx: tool.name != "d", "b_c"),
    ],
)
def test_tools_that_the_file_turns_off_are_not_there(
    tmp_path: Path, fields: dict[str, Any], keep: Any, left: str
) -> None:
    file = write(tmp_path, {"a": {"command": "x", **fields}})
    (toolset,) = mcp_toolsets(file, tool_filter=keep)
    passes: Any = toolset.tool_filter or (lambda tool, ctx: True)
    names = [name for name in ("a", "b_c", "d") if passes(SimpleNamespace(name=name), None)]
    assert " ".join(names) == left


@pytest.mark.anyio
async def test_a_tool_that_is_turned_off_is_not_listed_and_a_name_of_none_is_logged_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    clock = {"command": sys.executable, "args": ["-m", "mcp_server_time"]}
    only = {"tools": ["get_current_time", "c_convert_time", "*"]}
    off = {**clock, **only, "disabledTools": ["c_convert_time", "convert_tine"]}
    (toolset,) = mcp_toolsets(write(tmp_path, {"c": off}))
    try:
        for _ in range(2):
            assert [tool.name for tool in await toolset.list_tools()] == ["c_get_current_time"]
    finally:
        await toolset.close()
    told = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert "names the tool 'c_convert_time' as \"tools\", and there is none; near" in told[0]
    assert "names the tool 'convert_tine' as \"disabledTools\", and there is none; near" in told[1]
    assert len(told) == 2


@pytest.mark.parametrize(
    ("fields", "made"),
    [
        ({"type": "SSE"}, SseConnectionParams),
        ({"transport": "Sse", "type": "sse"}, SseConnectionParams),
        ({"type": "http", "transport": "Streamable-HTTP"}, StreamableHTTPConnectionParams),
        ({"type": ""}, StreamableHTTPConnectionParams),
        ({}, StreamableHTTPConnectionParams),
    ],
    ids=["upper case", "twice the same", "two names", "empty", "none"],
)
def test_a_transport_is_known_however_it_is_written(
    tmp_path: Path, fields: dict[str, Any], made: type
) -> None:
    assert type(params_of(write(tmp_path, {"a": {"url": "http://x.test", **fields}}))) is made


@pytest.mark.parametrize("off", [{"disabled": True}, {"enabled": False}, {"disabled": "false"}])
def test_a_disabled_server_is_left_out_whatever_else_it_says(
    tmp_path: Path, off: dict[str, Any]
) -> None:
    server = {"command": "${NOT_SET_ANYWHERE}", "sandbox": {}, **off}
    assert mcp_toolsets(write(tmp_path, {"a": server})) == []
    on = {"command": "x", "disabled": False, "enabled": True}
    assert len(mcp_toolsets(write(tmp_path, {"a": on}))) == 1


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"command": "x", "url": "http://x.test"}, 'has both "command" and "url"'),
        ({"command": "x", "headers": {}}, "has a \"command\", and 'headers' is for others"),
        ({"url": "http://x.test", "args": []}, "has a \"url\", and 'args' is for others"),
        ({"url": "http://x.test", "envFile": ".env"}, "'envFile' is for others"),
        ({"command": "x", "sandboxEnabled": True}, "field 'sandboxEnabled', which is not known"),
        ({"command": "x", "type": "http"}, "has the type 'http'"),
        ({"url": "http://x.test", "type": "stdio"}, "has the type 'stdio'"),
        ({"command": "x", "env": {"A": "${command:pick}"}}, "has ${command:pick}, which only"),
        ({"command": "x", "args": ["${config:a.b}"]}, "has ${config:a.b}, which only"),
        ({"command": "x", "args": ["${op-cli:tok}"]}, "has ${op-cli:tok}, which only"),
        ({"command": "x", "args": ["${ a.b/c : tok}"]}, "has ${ a.b/c : tok}, which only"),
        (
            {"url": "http://x.test", "type": "http", "transport": "sse"},
            "'http' and the transport 'sse'",
        ),
        (
            {"url": "http://x.test", "type": "sse", "transport": "stdio"},
            "has the transport 'stdio'",
        ),
        ({"command": "x", "type": "stdio", "transport": "sse"}, "has the transport 'sse'"),
        ({"command": "x", "args": ["${A:-${B}}"]}, "which only another client can fill in"),
        ({"command": "x", "args": ["${input:}"]}, "has ${input:}, which only"),
        ({"command": "x", "args": ["${input:no-tok}"]}, "needs the environment variable no_tok"),
        ({"command": "x", "envFile": "none.env"}, "has an envFile that cannot be read"),
        ({"command": "x", "envFile": "bad.env"}, "line 2 of"),
        ({"command": 5}, 'has no text as "command" but a value of type int'),
        ({"command": "x", "args": "y"}, 'has no list of texts as "args" but a value of type str'),
        ({"command": "x", "args": ["hunter2", 5]}, 'texts as "args" but a list with others'),
        ({"command": "x", "env": ["A"]}, 'has no object of texts as "env"'),
        ({"command": "x", "disabledTools": "rm"}, 'has no list of texts as "disabledTools"'),
        ({"url": "http://x.test", "headers": {"A": ["b"]}}, 'has no object of texts as "headers"'),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_cannot_be_read_is_refused_by_name(
    tmp_path: Path, fields: dict[str, Any], said: str
) -> None:
    (tmp_path / "bad.env").write_text("A=1\nhunter2\n")
    with pytest.raises(UsageError) as caught:
        mcp_toolsets(write(tmp_path, {"a": fields}))
    assert said in str(caught.value)
    assert str(caught.value).startswith("MCP server 'a' in ")
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"mcpServers": {}, "servers": {}}', 'has both "mcpServers" and "servers"'),
        ('{"mcpServers": {"a": {"command": "x", "command": "y"}}}', "'command' is there twice"),
        ('{"servers": {"a": {"command": "x"} /* }}', "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ('{"mcpServers": {"a": {"command": "x"}},,}', "is not JSON"),
    ],
    ids=["both", "twice", "open comment", "deep", "two commas"],
)
def test_a_file_that_could_be_misread_is_refused(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "mcp.json").write_text(text)
    with pytest.raises(UsageError) as caught:
        mcp_toolsets(tmp_path / "mcp.json")
    assert said in str(caught.value)


@pytest.mark.parametrize(
    "name", ["sandbox", "disabledTools", "mcp", "disabledMcpServers", "mcpservers", ""]
)
def test_what_stands_beside_the_servers_is_refused_if_it_is_not_known(
    tmp_path: Path, name: str
) -> None:
    file = tmp_path / "mcp.json"
    passing = {"inputs": [], "$schema": "x", "_note": 1, "//": "y"}
    servers = {"mcpServers": {"a": {"command": "x"}}}
    file.write_text(json.dumps({**servers, **passing}))
    assert len(mcp_toolsets(file)) == 1
    file.write_text(json.dumps({**servers, **passing, name: {}}))
    with pytest.raises(UsageError) as caught:
        mcp_toolsets(file)
    assert f"has {name!r} beside its servers" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("/* " * 300_000, "a comment does not end"),
        ('"' + '\\"' * 450_000, "is not JSON"),
        ("{" + ",".join(f'"{n}":1' for n in range(80_000)) + ',"1":1}', "'1' is there twice"),
        (" " * 1_000_001, "is longer than 1,000,000 bytes"),
    ],
    ids=["open comments", "open strings", "names", "too long"],
)
def test_a_foreign_file_is_read_in_time_that_grows_with_its_length(
    tmp_path: Path, text: str, said: str
) -> None:
    """Where the work grows with the square, these take minutes, and the test ends by its timeout."""
    (tmp_path / "mcp.json").write_text(text)
    with pytest.raises(UsageError) as caught:
        mcp_toolsets(tmp_path / "mcp.json")
    assert said in str(caught.value)


def test_a_person_cannot_be_asked_for_the_key_of_a_models_provider(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    for written in ("OPENAI_API_KEY", "OPENAI-API-KEY"):
        eve = {"url": "https://eve.test", "headers": {"X": f"${{input:{written}}}"}}
        with pytest.raises(UsageError, match="wants OPENAI_API_KEY, the key of"):
            mcp_toolsets(write(tmp_path, {"eve": eve}))
