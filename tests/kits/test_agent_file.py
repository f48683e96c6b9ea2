"""Settings of an `agent.yaml` that would do nothing where they stand."""

from pathlib import Path

import pytest

from toolwright.errors import UsageError
from toolwright.kits import load_agent_file, read_agent_file
from toolwright.testing import ScriptedModel

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
        ("settings:\n\n  top_p: 1\n  heat: 1\n", ":4: settings: there is no 'heat'; there are: "),
        ("settings:\n  top_p: 1\n  timeout: 0\n", ":3: settings: `timeout` must be more than 0"),
        ("name: a\nnull: 1\n", ":2: null: there is no such setting"),
        ("limits:\n  turns: 1\n  true: 1\n", ":3: limits.true: there is no such setting"),
        ("name: a\n7: 1\n", ":2: 7: there is no such setting"),
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


FUNCTIONS = "def f() -> str:\n    return ''\n\n\nfive = 5\nboth = [f, five]\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("functions:\n    - own.py:f\n    - own.py:f\n", ":6: Agent 'a' has two tools named 'f'"),
        ("functions:\n    - own.py:f\n    - own.py:five\n", ":6: "),
        ("functions:\n    - own.py:both\n", ":5: "),
        (
            "functions: [own.py:f]\napprovals:\n  allow: [f]\n  ask:\n    - g\n",
            ":8: There is no tool 'g', which the policy of agent 'a' names; ",
        ),
        ("functions: []\napprovals:\n  deny:\n    - f\n    - ''\n", ":8: A rule names no tool"),
    ],
)
def test_what_makes_no_agent_is_told_with_its_line_and_in_words_of_the_file(
    tmp_path: Path, text: str, told: str
) -> None:
    (tmp_path / "own.py").write_text(FUNCTIONS)
    file = tmp_path / "agent.yaml"
    file.write_text(f"name: a\ntools:\n  preset: none\n  {text}")
    with pytest.raises(UsageError) as caught:
        load_agent_file(file)
    assert str(caught.value).startswith(f"{file}{told}")
    assert "Rule." not in str(caught.value)


def test_a_name_that_is_wrong_is_told_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "agent.yaml"
    file.write_text("tools: {preset: none}\nname: a b\n")
    with pytest.raises(UsageError) as caught:
        load_agent_file(file)
    assert str(caught.value).startswith(f"{file}:2: An agent's name")


LATER = """from toolwright import tool
from toolwright.tools import Toolset
@tool
def bash(): 'Run it.'
class Later(Toolset):
    async def get_tools(self, readonly_context=None):
        return [bash]
later = Later()
"""


@pytest.mark.anyio
async def test_a_name_that_is_found_wrong_in_a_run_is_told_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(LATER)
    file = tmp_path / "agent.yaml"
    file.write_text("tools: {preset: none, functions: [own.py:later]}\napprovals:\n  ask: [bsh]\n")
    agent = load_agent_file(file, model=ScriptedModel("hi")).agent
    with pytest.raises(UsageError) as caught:
        await agent.run("hello")
    assert str(caught.value).startswith(f"{file}:3: There is no tool 'bsh'")
