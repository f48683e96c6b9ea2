"""The command line: what scripts and people see."""

import json
from pathlib import Path

import pytest
from tests.cli.program import here as run_here
from tests.cli.program import toolwright

from toolwright import UsageError
from toolwright.kits import load_agent_file

AGENT = """\
name: helper
instructions: Be brief.
tools:
  preset: coding
  functions: [mine:add]
approvals:
  allow: [add, read]
  deny: [bash]
"""
MINE = '''\
from toolwright import tool

@tool
def add(a: int, b: int) -> int:
    """Add two whole numbers."""
    return a + b
'''


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "agent.yaml").write_text(AGENT)
    (tmp_path / "mine.py").write_text(MINE)
    return tmp_path


def test_a_tool_is_called_from_the_shell_with_the_same_validation(here: Path) -> None:
    assert json.loads(run_here("tools", "call", "add", "a=2", "b=3", cwd=here).stdout) == {
        "status": "ok",
        "output": 5,
    }
    wrong = json.loads(run_here("tools", "call", "add", "a=two", cwd=here, check=1).stdout)
    assert wrong["status"] == "error"
    assert "missing required parameter 'b'" in wrong["output"]


def test_the_files_approvals_hold_for_calls_from_the_shell(here: Path) -> None:
    denied = json.loads(run_here("tools", "call", "bash", "command=ls", cwd=here, check=1).stdout)
    assert denied["status"] == "denied"
    asked = json.loads(
        run_here("tools", "call", "write", "path=x.txt", "content=hi", cwd=here, check=3).stdout
    )
    assert asked["pending"][0]["kind"] == "confirmation"
    assert not (here / "x.txt").exists()
    run_here("tools", "call", "write", "path=x.txt", "content=hi", "--yes", cwd=here)
    assert (here / "x.txt").read_text() == "hi"


def test_tools_are_listed_and_shown(here: Path) -> None:
    rows = [
        json.loads(line)
        for line in run_here("tools", "list", "--json", cwd=here).stdout.splitlines()
    ]
    assert [row["name"] for row in rows] == ["read", "bash", "edit", "write", "add"]
    shown = json.loads(run_here("tools", "show", "add", cwd=here).stdout)
    assert shown["parameters"]["required"] == ["a", "b"]


def test_without_a_model_the_message_says_exactly_what_to_do(here: Path) -> None:
    told = run_here("run", "hi", cwd=here, check=2).stderr
    assert "export OPENAI_API_KEY" in told
    assert "--model me" in told


def test_a_person_can_play_the_model(here: Path) -> None:
    done = toolwright(
        "run", "What is 2+3?", "--model", "me", cwd=here, stdin="/add a=2 b=3\nIt is 5.\n"
    )
    assert done.stdout == "It is 5.\n"
    assert "add → ok: 5" in done.stderr


def test_events_come_as_json_lines(here: Path) -> None:
    done = toolwright("run", "hi", "--model", "me", "--json", cwd=here, stdin="Hello.\n")
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert events[0]["type"] == "run_started"
    assert events[-1]["type"] == "run_ended"
    assert all(event["v"] == 2 for event in events)


def test_a_run_that_needs_an_answer_says_so_and_is_kept(here: Path) -> None:
    stdin = "/write path=a.txt content=hi\n"
    done = toolwright("run", "Write it.", "-m", "me", cwd=here, stdin=stdin, check=3)
    assert "waiting for an answer in session " in done.stderr
    # Nothing beside the agent's file, where its commands could write answers.
    assert {file.parent for file in here.rglob("*.db")} == {
        here / "state" / "toolwright" / "agents"
    }


def test_mistakes_in_the_file_are_told_with_their_lines(here: Path) -> None:
    (here / "agent.yaml").write_text("name: x\ntools:\n  preset: codng\n  plugns: []\n")
    told = run_here("config", "check", cwd=here, check=2).stderr
    assert "agent.yaml:3: tools.preset: input should be 'coding'" in told
    assert "agent.yaml:4: tools.plugns: there is no such setting" in told
    (here / "agent.yaml").write_text("tools:\n  functions: [mine:nothing]\n")
    assert (
        "agent.yaml:2: 'mine' has no 'nothing'"
        in run_here("config", "check", cwd=here, check=2).stderr
    )
    (here / "agent.yaml").write_text("name: [\n")
    assert "this is not YAML" in run_here("config", "check", cwd=here, check=2).stderr


def test_the_schema_of_the_file_is_printed_for_editors(here: Path) -> None:
    schema = json.loads(run_here("config", "schema", cwd=here).stdout)
    assert schema["properties"].keys() >= {
        "model",
        "instructions",
        "tools",
        "approvals",
        "limits",
        "store",
    }


def test_check_finds_vague_descriptions_and_missing_types(here: Path) -> None:
    (here / "mine.py").write_text("def add(a, b):\n    'Do it.'\n    return a\n")
    found = run_here("check", cwd=here).stdout
    assert "warning: add: its description is vague: 'Do it.'" in found
    assert "warning: add: parameter 'a' has no type" in found
    assert "tokens in every request" in found


def test_a_missing_tool_or_file_is_told_in_one_line(here: Path) -> None:
    assert (
        "There is no tool 'ad'; tools: read"
        in run_here("tools", "show", "ad", cwd=here, check=2).stderr
    )
    told = run_here("tools", "list", "-a", "gone.yaml", cwd=here, check=2).stderr
    assert told.strip() == "Cannot read gone.yaml: No such file or directory."


@pytest.mark.parametrize(
    "path",
    ["wares.py", "./wares.py", "{here}/wares.py", "shop/../wares.py", "./wares", "shop/more.py"],
)
def test_a_path_names_a_module(here: Path, path: str) -> None:
    (here / "shop").mkdir()
    for file in ("wares.py", "shop/more.py", "beside.py"):
        (here / file).write_text('def price(name: str) -> int:\n    """Find a price."""\n')
    named = f"{path.format(here=here)}:price"
    assert "price" in run_here("tools", "list", "-a", named, cwd=here).stdout
    (here / "shop" / "agent.yaml").write_text("tools:\n  functions: [../beside.py:price]\n")
    assert "price" in run_here("tools", "list", "-a", "shop/agent.yaml", cwd=here).stdout


@pytest.mark.parametrize(
    ("named", "told"),
    [
        (".:price", "'.:price' does not name an object; write it as 'package.module:name' or"),
        ("..:price", "does not name an object"),
        (".wares:price", "does not name an object"),
        ("wares.:price", "does not name an object"),
        ("./:price", "There is no Python file './'"),
        ("./gone.py:price", "There is no Python file './gone.py' in "),
        ("gone.py:price", "There is no Python file 'gone.py' in "),
    ],
)
def test_what_names_no_module_is_told_in_one_line(here: Path, named: str, told: str) -> None:
    shown = run_here("run", "hi", "-a", named, cwd=here, check=2).stderr
    assert told in shown
    assert len(shown.splitlines()) == 1


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("name: a b\n", "agent.yaml:1: An agent's name is letters"),
        (
            "tools:\n  mcp:\n    - {command: x, url: http://127.0.0.1/}\n",
            "agent.yaml:3: tools.mcp.0: an MCP server needs either",
        ),
        ("tools:\n  mcp_files:\n    - none.json\n", "agent.yaml:3: There is no MCP configuration"),
        ("tools:\n  plugins:\n    - {path: none}\n", "agent.yaml:3: There is no plugin at 'none'"),
        ("tools:\n  functions: ['./no.py:f']\n", "agent.yaml:2: There is no Python file './no.py'"),
        ("tools:\n  functions:\n    - .:f\n", "agent.yaml:3: '.:f' does not name an object"),
        ("tools:\n  skills: [none]\n", "agent.yaml:2: "),
        ("tools:\n  work_dir: none\n", "agent.yaml:2: "),
        ("limits:\n  turns: -1\n", "agent.yaml:2: limits.turns: input should be greater than 0"),
        ("settings:\n  temprature: 1\n", "there is no 'temprature'; there are: temperature"),
        ("settings:\n  max_tokens: many\n", "agent.yaml:2: settings.max_tokens: input should be"),
        ("[]\n", "agent.yaml:1: file: settings are wanted here"),
        ("false\n", "agent.yaml:1: file: settings are wanted here"),
        ("''\n", "agent.yaml:1: file: settings are wanted here"),
        ("tools: []\n", "agent.yaml:1: tools: settings are wanted here"),
        ("name: x\nmodel: openai\n", "agent.yaml:2: 'openai' does not say whose model it is"),
        ("\nmodel: 'openai:'\n", "agent.yaml:2: 'openai:' names no model"),
        ("model: nobody:x\n", "agent.yaml:1: "),
        ("model: 5\n", "agent.yaml:1: model: input should be a valid string"),
        (
            "\nstore: nowhere://x\n",
            "agent.yaml:2: store: 'nowhere://x' is not the address of a store",
        ),
        ('\nstore: "sqlite://"\n', "agent.yaml:2: store: 'sqlite://' names no file"),
        ('\nstore: "sqlite:///a?b"\n', "agent.yaml:2: store: 'sqlite:///a?b' has a `?`"),
        ('\nstore: "sqlite+aiosqlite:///y.db"\n', "agent.yaml:2: store: "),
        ('\nstore: "memory://foo?x=1"\n', "agent.yaml:2: store: "),
        ("tools:\n  mcp:\n    - {command: ''}\n", "agent.yaml:3: tools.mcp.0.command: "),
        ("tools:\n  mcp:\n    - {url: not a url}\n", "agent.yaml:3: tools.mcp.0.url: "),
        ("\nsettings: {max_tokens: -3}\n", "`max_tokens` must be more than 0, not -3"),
        ("\nsettings: {timeout: 0}\n", "`timeout` must be more than 0, not 0"),
    ],
)
def test_each_wrong_setting_is_told_with_its_line(
    text: str, told: str, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(here)
    (here / "agent.yaml").write_text(text)
    with pytest.raises(UsageError) as error:
        load_agent_file("agent.yaml")
    assert told in str(error.value)


def test_input_that_ends_too_early_is_told(here: Path) -> None:
    done = run_here("run", "hi", "--model", "me", cwd=here, check=1)
    assert "The input ended" in done.stderr
