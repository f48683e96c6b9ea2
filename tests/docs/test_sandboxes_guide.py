"""What the page on running commands and code shows, works."""

import re
import runpy
from pathlib import Path
from typing import Any

import pytest

from toolwright import BashToolPolicy

_SNIPPETS = Path(__file__).parents[2] / "docs" / "snippets" / "sandboxes"


def _run(name: str) -> dict[str, Any]:
    return runpy.run_path(str(_SNIPPETS / f"{name}.py"))


def _texts(result: Any) -> list[str]:
    return [r.text for m in result.history if m.kind == "tool" for r in m.results]


def test_an_agent_runs_python_and_bash_in_a_sandbox() -> None:
    first, second, third = _texts(_run("sandbox_agent")["result"])
    assert "[1, 2, 3]" in first
    assert second == "6 greeting.txt"
    assert "6" in third


def test_a_sandbox_runs_commands_and_code_within_limits() -> None:
    said, ended, partial, total = _run("open_sandbox")["outputs"]
    assert said.startswith("hello from /")
    assert (ended, partial, total) == ("timeout", "early\n", "6")


def test_hosts_that_were_not_named_are_refused() -> None:
    found = _run("allow_hosts")
    assert found["confined"]
    assert "403" in found["refused"]


def test_the_policy_finds_what_is_hidden() -> None:
    found = _run("policy")
    assert found["fine"].allowed
    assert "'curl' is not allowed" in found["hidden"].reason
    assert not found["flags"].allowed


def test_the_tool_says_where_it_runs_commands() -> None:
    found = _run("where")
    assert found["confined"]
    walled, on_machine = found["told"]
    assert "in a sandbox that can write to the working directory only" in walled
    assert "There is no network." in walled
    assert "without a sandbox" in on_machine


def test_the_table_of_the_guide_says_what_the_policy_says() -> None:
    guide = Path("docs/guides/sandboxes.md").read_text("utf-8")
    [listed] = re.findall(r"^\| the command \| with `\((.*)\)` \|$", guide, re.M)
    policy = BashToolPolicy(tuple(re.findall(r'"(\w+)"', listed)))
    rows = re.findall(r"^\| (`.*`) \| (allowed: only reads|allowed|refused)", guide, re.M)
    assert len(rows) == 15
    for commands, says in rows:
        for command in re.findall(r"`([^`]+)`", commands):
            verdict = policy.check(command)
            assert verdict.allowed == says.startswith("allowed"), command
            assert verdict.read_only == (says == "allowed: only reads"), command


def test_what_is_refused_on_purpose_has_something_that_works_instead() -> None:
    policy = BashToolPolicy(
        ("ls", "cat", "echo", "test", "expr", "sort", "diff"), allow_redirects=True
    )
    for command in ("ls *.py", "cat *", "echo $VAR", "echo ${VAR}", "echo $((1 + 1))", "echo {a,b}",
                    "for f in a; do ls; done", "while ls; do ls; done", "if ls; then ls; fi",
                    "case a in a) ls;; esac", "[[ -f a ]]", "((1))", "source f", ". f", "export A=1",
                    "alias a=ls", "f() { ls; }", "diff <(sort a) <(sort b)"):  # fmt: skip
        assert not policy.check(command).allowed, command
    for command in ("ls ./*.py", "cat -- *", "echo '$VAR'", "echo $(ls) $?", "test -f a && ls || ls",
                    "expr 1 + 1", "LC_ALL=C sort a", "sort b | diff a -"):  # fmt: skip
        assert policy.check(command).read_only, command
    prefix = BashToolPolicy(("PYTHONPATH=src pytest",))
    assert prefix.check("PYTHONPATH=src pytest").allowed
    assert not prefix.check("PYTHONPATH=. pytest").allowed


def test_the_everyday_forms_of_git_are_as_the_guide_says() -> None:
    guide = Path("docs/guides/sandboxes.md").read_text("utf-8")
    work, refused = re.findall(
        r"^Everyday forms work: (.*?)\. Interactive ones (.*) are refused", guide, re.M
    )[0]
    policy = BashToolPolicy(("git",))
    for command in re.findall(r"`([^`]+)`", work):
        assert policy.check(command).allowed, command
    for command in re.findall(r"`([^`]+)`", refused):
        assert not policy.check(f"git {command.removeprefix('git ')}").allowed, command


def test_the_bash_tool_asks_and_refuses() -> None:
    listed, refused = _run("execute_bash")["answers"]
    assert '"stdout": "notes.txt\\n"' in listed
    assert "'rm' is not allowed" in refused


def test_the_portable_sandbox_needs_no_processes() -> None:
    found = _run("portable")
    assert found["listed"] == "1\n2\n3\n"
    assert found["value"] == "['1', '2', '3']"
    assert found["notes"]


@pytest.mark.row("002-21")
def test_an_executor_is_checked() -> None:
    _run("own_executor")


def test_landlock_stands_in_if_it_is_asked_to() -> None:
    found = _run("landlock")
    assert found["chosen"] in ("bubblewrap", "landlock")
    assert found["notes"]


def test_a_server_runs_in_a_sandbox() -> None:
    [answer] = _texts(_run("server")["result"])
    assert "Europe/Oslo" in answer
