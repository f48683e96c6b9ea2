"""Policies judge what a command line would run."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.execution.bypass_corpus import ALLOWED, BYPASSES, PERMITTED

from toolwright.builtin.bash import BashToolPolicy
from toolwright.errors import UsageError

POLICY = BashToolPolicy(allowed_command_prefixes=ALLOWED)


def test_the_corpus_holds_more_than_a_hundred_bypasses() -> None:
    assert sum(len(group) for group in BYPASSES.values()) >= 250


@pytest.mark.parametrize("group", BYPASSES)
def test_no_bypass_of_the_corpus_is_allowed(group: str) -> None:
    allowed = [command for command in BYPASSES[group] if POLICY.check(command).allowed]
    assert allowed == []


def test_every_refusal_says_why() -> None:
    for command in (command for group in BYPASSES.values() for command in group):
        assert POLICY.check(command).reason, command


def test_plain_commands_are_allowed() -> None:
    verdicts = {command: POLICY.check(command) for command in PERMITTED}
    assert {c: v.reason for c, v in verdicts.items() if not v.allowed} == {}


def test_all_commands_that_were_found_are_listed() -> None:
    verdict = POLICY.check("echo \"$(date)\" | xargs -n 1 cat && sh -c 'ls -l'")
    assert verdict.commands == (
        ("echo", '"$(date)"'),
        ("date",),
        ("xargs", "-n", "1", "cat"),
        ("cat",),
        ("sh", "-c", "ls -l"),
        ("ls", "-l"),
    )


def test_what_runs_is_what_was_judged_with_every_word_quoted() -> None:
    checked = POLICY.check('cat a\\ b "c d" src/*.py | head -3 2>/dev/null').checked
    assert checked == "cat 'a b' 'c d' src/*.py | head -3 2> /dev/null"


def test_a_repository_cannot_make_git_run_its_programs() -> None:
    checked = POLICY.check("git log -3").checked
    assert "core.fsmonitor=false" in checked
    assert "core.hooksPath=/dev/null" in checked
    assert checked.endswith("log --no-ext-diff --no-textconv -3")


def test_a_prefix_of_several_words_allows_only_that() -> None:
    policy = BashToolPolicy(allowed_command_prefixes=("git log", "ls"))
    assert policy.check("git log -3").allowed
    assert not policy.check("git status").allowed
    assert not policy.check("git -C x log").allowed


def test_interpreters_are_allowed_only_in_a_sandbox_and_only_when_listed() -> None:
    policy = BashToolPolicy(allowed_command_prefixes=("python3 -c", "make"))
    refused = policy.check("python3 -c 'print(1)'")
    assert "only in a sandbox" in refused.reason
    assert policy.check("python3 -c 'print(1)'", sandboxed=True).allowed
    assert policy.check("make test", sandboxed=True).allowed
    assert not policy.check("python3 x.py", sandboxed=True).allowed
    assert not policy.check("node -e 1", sandboxed=True).allowed


def test_operators_are_blocked_where_they_are_operators() -> None:
    policy = BashToolPolicy(blocked_operators=("|", ";", "&&", "||", "`"))
    assert policy.check("echo 'a;b' \"c|d\"").allowed
    for command in ("ls; id", "ls\nid", "ls | id", "ls |& id", "ls || id", "echo `id`", "echo $(id)",
                    "sh -c 'ls; id'", "eval 'ls | id'"):  # fmt: skip
        assert not policy.check(command).allowed, command
    assert not BashToolPolicy(blocked_operators=(">",)).check("ls >> f").allowed
    assert not BashToolPolicy(blocked_operators=("rm -rf",)).check("rm -rf /").allowed


def test_everything_is_allowed_by_default_even_what_is_not_understood() -> None:
    policy = BashToolPolicy()
    for command in ("ls", "for x in *; do echo $x; done", "a | b > c", "if true; then ls; fi"):
        verdict = policy.check(command)
        assert (verdict.allowed, verdict.checked) == (True, command)


def test_redirects_can_be_allowed_below_the_working_directory() -> None:
    policy = BashToolPolicy(allowed_command_prefixes=("echo",), allow_redirects=True)
    assert policy.check("echo x > out/f.txt").allowed
    for target in ("/etc/x", "../x", ".git/config", "~/x", "a/../../x", ".bashrc"):
        assert not policy.check(f"echo x > {target}").allowed, target


def test_read_only_commands_are_known_as_such() -> None:
    policy = BashToolPolicy()
    for command in ("ls -la", "cat a | grep b | wc -l", "git status", "git log -p", "find . -name x",
                    "echo \"$(date)\"", "ls 2> /dev/null"):  # fmt: skip
        assert policy.check(command).read_only, command
    for command in ("rm x", "ls > f", "git commit -m x", "find . -delete", "sort -o f f", "ls; rm x",
                    "xargs ls", "echo $(rm x)", "python3 -c 1", "cat $x", "git -c a.b=c log",
                    "uniq a b", "date -s now", "tee f", "find . -exec rm {} +"):  # fmt: skip
        assert not policy.check(command).read_only, command


def test_prefixes_must_be_a_tuple_of_words() -> None:
    with pytest.raises(UsageError, match="tuples"):
        BashToolPolicy(allowed_command_prefixes="git")  # pyrefly: ignore
    with pytest.raises(UsageError, match="empty prefix"):
        BashToolPolicy(allowed_command_prefixes=("",))


def test_a_mistake_in_the_judge_is_a_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(source: str) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("toolwright.builtin.bash._judge.read_script", broken)
    assert not POLICY.check("ls").allowed


@given(st.text(alphabet="ls id;&|$(){}<>`'\"\\\n\t#~*?[]=!-/.x", max_size=40))
def test_judging_never_fails_whatever_the_text(command: str) -> None:
    verdict = POLICY.check(command)
    assert verdict.allowed or verdict.reason
