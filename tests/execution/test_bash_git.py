"""git, allowed by a policy, in a repository whose settings and hooks try to run programs."""

import os
import subprocess
from pathlib import Path

import pytest

from toolwright.builtin.bash import BashToolPolicy

POLICY = BashToolPolicy(allowed_command_prefixes=("git", "find", "timeout"))
HOOKS = (
    "pre-commit", "post-commit", "post-checkout", "pre-push", "commit-msg", "prepare-commit-msg",
    "post-merge", "reference-transaction", "post-index-change", "pre-auto-gc", "applypatch-msg",
)  # fmt: skip
SETTINGS = (
    "core.fsmonitor", "core.pager", "core.editor", "core.sshCommand", "core.askPass", "core.gitProxy",
    "core.alternateRefsCommand", "credential.helper", "sequence.editor", "diff.external", "pager.log",
    "diff.z.textconv", "diff.z.command", "filter.z.clean", "filter.z.smudge", "merge.z.driver",
    "gpg.program", "gpg.ssh.defaultKeyCommand", "tar.zz.command", "trailer.x.command", "trailer.x.cmd",
    "remote.origin.uploadpack", "remote.origin.receivepack", "man.z.cmd", "interactive.diffFilter",
    "gc.recentObjectsHook", "uploadpack.packObjectsHook",
)  # fmt: skip
PLAIN = {
    "filter.z.required": "true", "commit.gpgSign": "true", "log.showSignature": "true", "man.viewer": "z",
    "protocol.ext.allow": "always", "submodule.recurse": "true", "remote.v.vcs": "evil", "remote.v.url": "x",
    "gc.auto": "1",
}  # fmt: skip
WORKS = (
    "git status", "git status -v", "git diff", "git diff HEAD", "git log -p", "git show", "git blame a.txt",
    "git whatchanged -p", "git log '--format=%G?'", "git stash list", "git ls-files -m", "git diff-files -p",
    "git describe --dirty --always", "git cat-file -p HEAD", "git -C sub status", "git reflog",
    "git add a.txt", "git commit -am 'x y'", "git checkout other", "git checkout -", "git merge other",
    "git archive --format=zz HEAD", "git tag x", "git format-patch -1 --stdout", "git hash-object a.txt",
    "git reset --hard HEAD", "git clean -n", "git rm -r --cached a.txt", "git restore --staged a.txt",
    "find . -maxdepth 0 -exec git status ';'", "timeout 5 git status", "find . -maxdepth 0 -exec git tag y ';'",
)  # fmt: skip
CLOSED = (
    "git fetch origin", "git fetch ext", "git fetch v", "git push origin HEAD:x", "git push ../bare HEAD:x",
    "git ls-remote origin", "git ls-remote ext::sh", "git ls-remote git://127.0.0.1:1/x", "git clone ../bare ../y",
    "git clone . ../y", "git pull origin", "git remote show origin",
)  # fmt: skip


class Trap:
    """A repository, a submodule in it and a bare one beside it, all of which set traps."""

    def __init__(self, root: Path) -> None:
        self.work, self._trace = root / "work", root / "trace"
        evil = root / "evil"
        evil.write_text(f'#!/bin/sh\necho "$0 $*" >> {self._trace}\ncat\n')
        evil.chmod(0o755)
        for place in (self.work, self.work / "sub"):
            place.mkdir()
            _git(place, "init", "-q", "-b", "master")
            (place / "a.txt").write_text("one\n")
            _git(place, "add", ".")
            _git(place, "commit", "-qm", "one")
        _git(self.work, "add", "sub")
        _git(self.work, "commit", "-qm", "two")
        _git(self.work, "branch", "other")
        _git(root, "init", "-q", "--bare", "bare")
        self._set(evil, root)
        (self.work / ".gitattributes").write_text("*.txt diff=z filter=z merge=z\n")
        (self.work / "sub/.gitattributes").write_text("*.txt filter=y\n")
        (self.work / ".gitmodules").write_text(
            '[submodule "sub"]\n path = sub\n url = x\n ignore = none\n'
        )
        for changed in ("a.txt", "sub/a.txt"):
            (self.work / changed).write_text("two\n")

    def _set(self, evil: Path, root: Path) -> None:
        for hooks, names in (
            (self.work / ".git/hooks", HOOKS),
            (root / "bare/hooks", ("pre-receive", "post-receive", "update")),
        ):
            for name in names:
                (hooks / name).unlink(missing_ok=True)
                os.link(evil, hooks / name)
        named = dict.fromkeys(SETTINGS, str(evil)) | PLAIN
        named |= {"remote.origin.url": str(root / "bare"), "remote.ext.url": f"ext::{evil}"}
        for name, value in named.items():
            _git(self.work, "config", name, value)
        for name in ("filter.y.clean", "core.fsmonitor"):
            _git(self.work / "sub", "config", name, str(evil))

    def run(self, command: str) -> tuple[int, str]:
        """Its exit code, and what it started."""
        done = subprocess.run(["bash", "-c", command], cwd=self.work, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=30, check=False)  # fmt: skip
        trace = self._trace.read_text() if self._trace.exists() else ""
        self._trace.unlink(missing_ok=True)
        return done.returncode, trace


def _git(place: Path, *argv: str) -> None:
    who = ("-c", "user.name=a", "-c", "user.email=a@b.c")
    subprocess.run(["git", *who, *argv], cwd=place, check=True, capture_output=True)


@pytest.fixture(scope="module")
def trap(tmp_path_factory: pytest.TempPathFactory) -> Trap:
    made = Trap(tmp_path_factory.mktemp("git"))
    _git(made.work, "config", "user.name", "a")
    _git(made.work, "config", "user.email", "a@b.c")
    return made


def test_without_a_policy_the_repository_runs_its_programs(tmp_path: Path) -> None:
    trap = Trap(tmp_path)
    for command in (
        "git status",
        "git diff",
        "git log -p",
        "git blame a.txt",
        "git push ../bare HEAD:x",
    ):
        assert trap.run(command)[1], command


def test_no_sub_command_starts_a_program_of_the_repository(trap: Trap) -> None:
    results = {command: trap.run(POLICY.check(command).checked) for command in WORKS}
    assert {command: trace for command, (_, trace) in results.items() if trace} == {}
    assert {command: code for command, (code, _) in results.items() if code} == {}


def test_other_repositories_of_this_machine_and_helpers_are_out_of_reach(trap: Trap) -> None:
    results = {command: trap.run(POLICY.check(command).checked) for command in CLOSED}
    assert {command: trace for command, (_, trace) in results.items() if trace} == {}
    assert {command for command, (code, _) in results.items() if code == 0} == set()


def test_a_merge_with_conflicts_starts_no_driver(tmp_path: Path) -> None:
    trap = Trap(tmp_path)
    quiet = ("-c", "core.hooksPath=/dev/null", "-c", "filter.z.clean=", "-c", "filter.z.smudge=",
             "-c", "filter.z.required=false", "-c", "core.fsmonitor=false", "-c", "commit.gpgSign=false")  # fmt: skip
    _git(trap.work, *quiet, "commit", "-qam", "two")
    _git(trap.work, *quiet, "checkout", "-q", "other")
    (trap.work / "a.txt").write_text("three\n")
    _git(trap.work, *quiet, "commit", "-qm", "three", "a.txt")
    (tmp_path / "trace").unlink(missing_ok=True)
    code, trace = trap.run(POLICY.check("git merge master").checked)
    assert (code != 0, trace) == (True, "")


def test_a_repository_inside_that_is_no_submodule_is_not_looked_into(tmp_path: Path) -> None:
    trap = Trap(tmp_path)
    (trap.work / ".gitmodules").unlink()
    for command in ("git status", "git diff", "git commit --dry-run -a"):
        assert trap.run(POLICY.check(command).checked)[1] == "", command


def test_what_only_reads_fetches_nothing() -> None:
    assert "git . / --no-pager" in POLICY.check("git log -p").checked
    assert "git . https:ssh --no-pager" in POLICY.check("git fetch").checked


def test_a_directory_that_looks_like_a_repository_is_not_one(tmp_path: Path) -> None:
    trap = Trap(tmp_path)
    _git(
        tmp_path,
        "clone",
        "-q",
        "--bare",
        str(tmp_path / "work/sub"),
        str(tmp_path / "work/planted"),
    )
    _git(tmp_path / "work/planted", "config", "core.fsmonitor", str(tmp_path / "evil"))
    code, trace = trap.run(POLICY.check("git -C planted log").checked)
    assert (code != 0, trace) == (True, "")


def test_a_name_with_odd_characters_is_turned_off_as_well(tmp_path: Path) -> None:
    trap = Trap(tmp_path)
    _git(trap.work, "config", "diff.a b'\"$x.textconv", str(tmp_path / "evil"))
    (trap.work / ".gitattributes").write_text("*.txt diff=z\n")
    assert trap.run(POLICY.check("git status -v").checked)[1] == ""


def test_what_reads_leaves_even_the_index_alone(trap: Trap) -> None:
    index = trap.work / ".git/index"
    os.utime(trap.work / "a.txt")
    before = index.read_bytes(), index.stat().st_mtime_ns
    for command in ("git status", "git diff", "git diff HEAD", "git log -1"):
        trap.run(POLICY.check(command).checked)
    assert (index.read_bytes(), index.stat().st_mtime_ns) == before


HELPERS = ("ssh", "file", "none", "x", "ext", "exy", "")
"""What may stand before `::` in an address; git runs `git remote-…`, an alias if there is no such program."""


def _address_traps(root: Path, place: Path) -> None:
    """Remotes at `place` whose helpers are aliases, or so misspelt that git would correct them to one."""
    runs = f"!echo alias >> {root / 'trace'}; exit 1 #"
    _git(place, "config", "help.autoCorrect", "immediate")
    for name in HELPERS:
        _git(place, "config", f"remote.at-{name}.url", f"{name}::{root / 'evil'}")
        _git(place, "config", f"alias.remote-{name}", runs)


def test_no_address_runs_an_alias_as_its_helper(tmp_path: Path) -> None:
    trap = Trap(tmp_path)
    _address_traps(tmp_path, trap.work)
    remotes = [f"at-{name}" for name in HELPERS]
    assert "alias" in trap.run("git fetch at-ssh")[1]
    commands = [f"{verb} {name}" for name in remotes for verb in ("git fetch", "git ls-remote")]
    commands += [f"git ls-remote {name}::x" for name in HELPERS]
    results = {command: trap.run(POLICY.check(command).checked) for command in commands}
    assert {command: trace for command, (_, trace) in results.items() if trace} == {}
    assert {command for command, (code, _) in results.items() if code == 0} == set()


def test_what_reads_runs_no_alias_to_fetch_what_is_missing(tmp_path: Path) -> None:
    trap = Trap(tmp_path)
    _address_traps(tmp_path, trap.work)
    blob = subprocess.run(["git", "rev-parse", "HEAD:a.txt"], cwd=trap.work, capture_output=True,
                          text=True, check=True).stdout.strip()  # fmt: skip
    (trap.work / ".git/objects" / blob[:2] / blob[2:]).unlink()
    _git(trap.work, "config", "core.repositoryFormatVersion", "1")
    check = POLICY.check("git show HEAD:a.txt")
    assert check.read_only
    _git(trap.work, "config", "extensions.partialClone", "at-none")
    assert "alias" in trap.run("git show HEAD:a.txt")[1]
    for name in HELPERS:
        _git(trap.work, "config", f"remote.at-{name}.promisor", "true")
        assert trap.run(check.checked)[1] == "", name


def test_hooks_that_settings_name_are_nothing_to_a_git_that_knows_them(tmp_path: Path) -> None:
    """Since 2.54, git runs `hook.NAME.command`; an older one shows which it would run."""
    _git(tmp_path, "init", "-q")
    for key, value in (("command", "./evil"), ("event", "pre-commit"), ("enabled", "true")):
        _git(tmp_path, "config", f"hook.a b.{key}", value)
    judged = POLICY.check("git config --get-regexp '^hook'")
    assert judged.allowed
    done = subprocess.run(
        ["bash", "-c", judged.checked], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    last = dict(line.removeprefix("hook.a b.").split(" ", 1) for line in done.stdout.splitlines())
    assert last == {"command": "true", "event": "pre-commit", "enabled": "false"}
