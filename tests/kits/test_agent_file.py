"""Settings of an `agent.yaml` that would do nothing where they stand."""

from pathlib import Path

import pytest

from toolwright.errors import UsageError
from toolwright.kits import read_agent_file

URL = 'url: "http://127.0.0.1:9/mcp"'


def server(*lines: str) -> str:
    return "tools:\n  mcp:\n    - " + "\n      ".join(lines) + "\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (server("args: [x]", URL), ":3: tools.mcp.0.args: it is for a server with a `command`"),
        (server(URL, "env: {A: b}"), ":4: tools.mcp.0.env: it is for a server with a `command`"),
        (server(URL, "env: {}"), ":4: tools.mcp.0.env: it is for"),
        (
            server("command: sh", "headers: {A: b}"),
            ":4: tools.mcp.0.headers: it is for a server with a `url`",
        ),
        (server("command: sh", URL), ":3: tools.mcp.0: an MCP server needs either a command or"),
        (server("tool_name_prefix: a"), ":3: tools.mcp.0: an MCP server needs either a command or"),
        (
            "tools:\n  work_dir: x\n  preset: web\n",
            ":2: tools.work_dir: it is for file tools, and the preset 'web' has none",
        ),
        ("tools: {preset: none, work_dir: x}\n", ":1: tools.work_dir: it is for file tools"),
        ("settings: {heat: 1}\n", ":1: settings: there is no 'heat'; there are: "),
    ],
)
def test_a_setting_of_another_kind_is_refused_with_its_line(
    tmp_path: Path, text: str, told: str
) -> None:
    (tmp_path / "agent.yaml").write_text(text)
    with pytest.raises(UsageError) as caught:
        read_agent_file(tmp_path / "agent.yaml")
    assert str(caught.value).startswith(f"{tmp_path}/agent.yaml{told}")


@pytest.mark.parametrize(
    "text",
    [
        server("command: sh", "args: [-c]", "env: {A: b}"),
        server(URL, "headers: {A: b}"),
        "tools: {preset: readonly, work_dir: x}\n",
        "tools: {work_dir: x}\n",
    ],
)
def test_settings_of_their_own_kind_are_taken(tmp_path: Path, text: str) -> None:
    (tmp_path / "agent.yaml").write_text(text)
    assert read_agent_file(tmp_path / "agent.yaml").tools is not None
