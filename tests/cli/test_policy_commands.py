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
