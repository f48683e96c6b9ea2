"""`policy explain`, `lock` and `check --locked`."""

import json
import sys
from pathlib import Path

import pytest

from toolwright.cli import main
from toolwright.serve import ServeSettings


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    skill = tmp_path / "tidy"
    skill.mkdir()
    (skill / "SKILL.md").write_text("---\nname: tidy\ndescription: Tidies.\n---\nTidy up.")
    (tmp_path / "agent.yaml").write_text(
        "tools: {preset: coding, skills: [tidy]}\n"
        "approvals: {deny: [edit], ask: [bash], otherwise: by_effects}\n"
        "store: 'memory://'\n"
    )
    return tmp_path


def does(monkeypatch: pytest.MonkeyPatch, *words: str) -> int | str | None:
    monkeypatch.setattr("sys.argv", ["toolwright", *words])
    with pytest.raises(SystemExit) as end:
        main()
    return end.value.code


def test_explain_says_which_rule_decides_and_runs_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], here: Path
) -> None:
    assert does(monkeypatch, "policy", "explain", "bash", "command=touch it-ran") == 0
    said = capsys.readouterr().out
    assert "bash: is asked about" in said
    assert "* ask   Rule.ask('bash') in the policy of agent 'agent'" in said
    assert not (here / "it-ran").exists()

    words = ("edit", "path=a", "old_text=x", "new_text=y", "--json")
    does(monkeypatch, "policy", "explain", *words)
    row = json.loads(capsys.readouterr().out)
    assert (row["verdict"], row["reason"]) == ("deny", "the agent's file does not allow it")

    does(monkeypatch, "policy", "explain", "read", "path=a")
    assert "read: runs without a question" in capsys.readouterr().out


def test_explain_of_a_call_that_does_not_exist_names_the_nearest(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert does(monkeypatch, "policy", "explain", "bsah") not in (0, None)
    assert "bash" in capsys.readouterr().err


PAYING = """
from toolwright import Agent, AgentTool, Rule, Toolset, rules, tool
from toolwright.testing import ScriptedModel

@tool
def pay(cents: int) -> str:
    'Pay what they ask for.'
    raise AssertionError("nothing runs")

class Paying(Toolset):
    async def get_tools(self, readonly_context=None):
        return [pay]

class Away(Paying):
    async def all_tools(self, context=None):
        return None

def clerk(name, toolset, *tools, rule=None):
    policy = rule and rules(Rule.deny(rule), otherwise="allow")
    model = ScriptedModel()
    return Agent(name=name, description="It pays.", model=model, tools=[toolset, *tools], policy=policy)

paying, away = Paying(), Away()
agent = clerk("outer", paying, AgentTool(clerk("inner", Paying(), rule="pya")))
right = clerk("outer", paying, AgentTool(clerk("inner", Paying(), rule="pay")))
unknown = clerk("outer", paying, AgentTool(clerk("inner", Away(), rule="pya")))
"""


@pytest.fixture
def paying(here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (here / "paying_by_rules.py").write_text(PAYING)
    monkeypatch.setattr("sys.path", [str(here), *sys.path])
    return here / "agent.yaml"


COMMANDS = {
    "check": ("check",),
    "tools list": ("tools", "list"),
    "tools show": ("tools", "show", "pay"),
    "policy explain": ("policy", "explain", "pay", "cents=1"),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_misspelt_rule_of_any_agent_is_found_without_a_run(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], paying: Path
) -> None:
    words = (*COMMANDS[command], "--agent")
    code = does(monkeypatch, *words, "paying_by_rules:agent")
    said = capsys.readouterr()
    told = said.out if command == "check" else said.err
    assert (
        "There is no tool 'pya', which the policy of agent 'inner' names; near names: pay" in told
    )
    assert code == (1 if command == "check" else 2)
    assert does(monkeypatch, *words, "paying_by_rules:right") == 0


FLOW = """
from toolwright import LoopAgent, SequentialAgent, tool
from toolwright.agent import START, Workflow
from paying_by_rules import Paying, clerk

@tool
def gap(x):
    'It'

def flow(rule="pay"):
    inner = LoopAgent(name="loop", sub_agents=[clerk("second", Paying(), gap, rule=rule)])
    return SequentialAgent(name="w", sub_agents=[clerk("first", Paying()), inner])

right, wrong = flow(), flow("pya")
graph = Workflow(name="g", nodes={"gap": gap, "flow": flow()}, edges=[(START, "gap"), ("gap", "flow")])
nobody = Workflow(name="n", nodes={"gap": gap}, edges=[(START, "gap")])
"""


@pytest.mark.parametrize("locked", [False, True])
def test_the_tools_of_a_workflows_steps_are_checked_each_for_itself(
    locked: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    paying: Path,
) -> None:
    (paying.parent / "flow_by_rules.py").write_text(FLOW)
    words = ["--locked"] if locked else []
    assert does(monkeypatch, "lock", "--agent", "flow_by_rules:right") == 0
    for target in ("right", "graph"):
        capsys.readouterr()
        assert does(monkeypatch, "check", *words, "--agent", f"flow_by_rules:{target}") == 0
        said = capsys.readouterr().out
        assert "warning: second/gap: its description is vague: 'It'" in said
        assert "warning: first/pay" in said, "pay has a parameter without a description"
        assert "first: 1 tools, about" in said
        assert "second: 2 tools, about" in said
        assert "tools have this name" not in said
    assert does(monkeypatch, "check", *words, "--agent", "flow_by_rules:nobody") == 0
    assert does(monkeypatch, "check", *words, "--agent", "flow_by_rules:wrong") == 1
    assert "There is no tool 'pya'" in capsys.readouterr().out


def test_check_says_which_rules_could_not_be_checked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], paying: Path
) -> None:
    assert does(monkeypatch, "check", "--agent", "paying_by_rules:unknown", "--json") == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    [row] = [row for row in rows if row["tool"] == "rules"]
    assert row["level"] == "warning"
    assert "the policy of agent 'inner' names the tool 'pya', which could not be" in row["message"]


def test_config_check_finds_a_misspelt_name_among_the_tools_of_toolsets(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], paying: Path
) -> None:
    def checked(toolset: str, name: str) -> int | str | None:
        paying.write_text(
            f"tools: {{preset: none, functions: ['paying_by_rules:{toolset}']}}\n"
            f"approvals:\n  otherwise: allow\n  deny: [{name}]\n"
        )
        return does(monkeypatch, "config", "check")

    assert checked("paying", "pya") == 2
    assert "agent.yaml:4: There is no tool 'pya'" in capsys.readouterr().err
    assert checked("paying", "pay") == 0
    assert capsys.readouterr().out == "agent.yaml: agent 'agent' is fine\n"
    assert checked("away", "pya") == 0
    assert "warning: the policy of agent 'agent' names the tool 'pya'" in capsys.readouterr().out


def test_config_check_lists_no_toolset_where_all_names_are_known(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], paying: Path
) -> None:
    (paying.parent / "unlisted.py").write_text(
        "from toolwright import Toolset\n"
        "class Unlisted(Toolset):\n"
        "    async def get_tools(self, readonly_context=None):\n"
        "        raise AssertionError('it was listed')\n"
        "toolset = Unlisted()\n"
    )
    paying.write_text(
        "tools: {preset: coding, functions: ['unlisted:toolset']}\napprovals: {ask: [bash]}\n"
    )
    assert does(monkeypatch, "config", "check") == 0
    assert "is fine" in capsys.readouterr().out


def test_a_lock_holds_until_something_moves(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], here: Path
) -> None:
    assert does(monkeypatch, "check", "--locked") not in (0, None)
    assert "toolwright lock" in capsys.readouterr().err
    assert does(monkeypatch, "lock") == 0
    assert "1 sources" in capsys.readouterr().out
    assert set(json.loads((here / "toolwright.lock").read_text())["sources"]) == {"skill:tidy"}
    assert does(monkeypatch, "check", "--locked") == 0

    (here / "tidy" / "SKILL.md").write_text("---\nname: tidy\ndescription: Tidies.\n---\nRun rm.")
    capsys.readouterr()
    assert does(monkeypatch, "check", "--locked") not in (0, None)
    assert "skill:tidy: SKILL.md has changed" in capsys.readouterr().out
    assert does(monkeypatch, "check") == 0


ODD_LOCKS: dict[str, bytes] = {
    "empty": b"",
    "no JSON": b"<<<<<<< HEAD\n{}",
    "JSON of another shape": b"[1]",
    "a binary file": bytes(range(256)),
    "another encoding": '{"version": 1, "sources": {}}'.encode("utf-16"),
    "deep": b"[" * 100_000,
    "no fields": b"{}",
    "no sources": b'{"version": 1}',
    "a yes as the version": b'{"version": true, "sources": {}}',
    "two versions": b'{"version": 2, "version": 1, "sources": {}}',
    "an empty source": b'{"version": 1, "sources": {"\\u001b[2Jmcp:a": {}}}',
}


@pytest.mark.parametrize("what", ODD_LOCKS)
def test_an_odd_lock_file_is_one_clear_line(
    what: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], here: Path
) -> None:
    (here / "toolwright.lock").write_bytes(ODD_LOCKS[what])
    assert does(monkeypatch, "check", "--locked") == 2
    out, err = capsys.readouterr()
    [line] = err.splitlines()
    assert (line.startswith("toolwright.lock"), out, "\x1b" in line) == (True, "", False)
    assert " no lock" in line


@pytest.mark.parametrize(
    "place", ["tidy", "nowhere/x.lock", "agent.yaml/x.lock", "x\0.lock", "x" * 300]
)
def test_a_lock_that_cannot_be_written_or_read_is_one_clear_line(
    place: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for words in (("lock",), ("check", "--locked")):
        assert does(monkeypatch, *words, "--file", place) == 2
        [line] = capsys.readouterr().err.splitlines()
        assert line.startswith(place.replace("\0", "\\u0000"))


def test_a_lock_holds_whatever_text_a_server_writes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], here: Path
) -> None:
    (here / "half_pairs.py").write_text(
        "from toolwright import tool\n"
        "@tool\ndef pay(cents: int) -> str:\n    'Pay \\ud800 \\U0001f600 é.'\n    return ''\n"
        "pay = pay.replace(source='mcp:\\udfff')\n"
    )
    monkeypatch.setattr("sys.path", [str(here), *sys.path])
    assert does(monkeypatch, "lock", "--agent", "half_pairs:pay") == 0
    assert does(monkeypatch, "check", "--locked", "--agent", "half_pairs:pay") == 0
    assert "é" in (here / "toolwright.lock").read_text(encoding="utf-8")


def test_what_is_explained_is_what_the_commands_do(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], here: Path
) -> None:
    (here / "paying.py").write_text(
        "from toolwright import Agent, Rule, rules, tool\n"
        "from toolwright.testing import ScriptedModel\n"
        "@tool\ndef pay(cents: int) -> str:\n    'Pay.'\n    return 'paid'\n"
        "mine = rules(Rule.deny('pay', user='me'), otherwise='allow')\n"
        "agent = Agent(name='a', model=ScriptedModel(), tools=[pay], policy=mine)\n"
    )
    monkeypatch.setattr("sys.path", [str(here), *sys.path])
    words = ("pay", "cents=5", "--agent", "paying:agent")
    assert does(monkeypatch, "policy", "explain", *words) == 0
    assert "pay: is denied" in capsys.readouterr().out
    assert does(monkeypatch, "tools", "call", *words) == 1
    assert json.loads(capsys.readouterr().out)["status"] == "denied"
    served: list[ServeSettings] = []
    monkeypatch.setattr("toolwright.cli._serve.serve_app", lambda _, it, say: served.append(it))
    assert does(monkeypatch, "serve", "paying:agent") == 0
    assert [settings.user_id for settings in served] == ["me"]
