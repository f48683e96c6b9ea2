"""git, allowed by a policy, where repositories inside this one and other work trees name programs."""

import hashlib
import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from tests.execution.git_scene import PLAIN, Scene, configure, git

from toolwright.builtin.bash import BashToolPolicy
from toolwright.builtin.bash._grammar import Program
from toolwright.builtin.bash.programs import all_programs

POLICY = BashToolPolicy(allowed_command_prefixes=("git",))
ESSENTIAL = (
    "git status", "git status -s", "git status -v", "git status --ignore-submodules=dirty", "git diff", "git diff HEAD",
    "git diff --stat", "git diff --raw -p", "git diff --no-index a.txt sub/a.txt", "git diff-files", "git diff-files -p",
    "git diff-index HEAD", "git diff-index -p HEAD~1", "git diff-tree -p HEAD", "git show", "git log -p", "git log -p -m",
    "git log '--format=%G?' -2", "git reflog show -p -1", "git reflog -p", "git stash list -p", "git submodule status",
    "git submodule", "git ls-files -m", "git grep 1", "git blame a.txt", "git range-diff HEAD~2..HEAD HEAD~1..HEAD",
    "git -C sub status", "git -C sub/deep diff", "git -C mod log -p", "git -C loose status", "git -C grove diff HEAD",
    "git -C ../tree status", "git notes list", "git worktree list", "git describe --always",
)  # fmt: skip
WRITES = (
    "git status -vv", "git describe --dirty --always", "git describe --broken --always", "git add .", "git add -A", "git commit -am x",
    "git commit --amend", "git commit -v --amend", "git stash", "git stash pop", "git stash -u", "git stash apply", "git checkout other",
    "git switch main", "git merge other", "git cherry-pick other", "git cherry-pick --abort", "git rebase other", "git rebase -i HEAD~1",
    "git rebase --abort", "git pull", "git reset", "git reset --hard", "git restore .", "git checkout -- .", "git update-index --refresh",
    "git rm -f sub", "git rm -f mod", "git rm --cached sub", "git mv mod mod2", "git clean -fdx -n", "git archive --format=x HEAD",
    "git worktree add ../new", "git worktree remove grove", "git worktree remove -f ../tree", "git bisect start", "git bisect bad",
    "git bisect reset", "git tag -a t -m x", "git format-patch -1 --stdout", "git am --abort", "git notes add -m x", "git fetch --all",
)  # fmt: skip


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    return Scene(tmp_path_factory.mktemp("inside"))


def started(scene: Scene, commands: Sequence[str]) -> dict[str, str]:
    """The commands that start a program when a policy has judged them, with which; all must be allowed."""
    verdicts = {command: POLICY.check(command) for command in commands}
    assert {command: v.reason for command, v in verdicts.items() if not v.allowed} == {}
    asked = {verdict.checked: command for command, verdict in verdicts.items()}
    found = scene.run(list(asked))
    scene.succeeded = [asked[ran] for ran in scene.succeeded]
    return {asked[ran]: program for ran, program in found.items()}


def reading_lines() -> list[str]:
    """For every sub-command: alone, with a revision, as a patch, and with each option, if that reads."""
    reads = BashToolPolicy()
    lines = {
        line for name, one in _rows(all_programs()["git"], "git") for line in _tries(name, one)
    }
    whole = "TOOLWRIGHT_WHOLE_TABLE" in os.environ
    chosen = [line for line in sorted(lines) if whole or zlib.crc32(line.encode()) % 48 == 0]
    return [line for line in (*ESSENTIAL, *chosen) if reads.check(line).read_only]


def _rows(program: Program, name: str) -> Iterator[tuple[str, Program]]:
    for sub, command in program.commands.items():
        yield f"{name} {sub}", command
        yield from _rows(command, f"{name} {sub}")


def _tries(name: str, program: Program) -> Iterator[str]:
    yield from (name, f"{name} HEAD", f"{name} -p", f"{name} -- .", f"{name} -p HEAD~1")
    for option, known in program.options.items():
        value = min(known.choices, default="1")
        between = "=" if option.startswith("--") and known.value != "none" else ""
        written = f"{option}{between}{value}" if known.value != "none" else option
        yield f"{name} {written}"
        yield f"{name} -p {written} HEAD"


def content(place: Path) -> dict[str, str]:
    """Every file there, and what is in it."""
    files = (path for path in place.rglob("*") if path.is_file() and not path.is_symlink())
    return {str(p.relative_to(place)): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


def as_made(scene: Scene) -> None:
    """The repository around has no settings of its own that matter."""


def trapped(scene: Scene) -> None:
    """The repository around sends git into those inside, by settings and by a file that is not there.

    Its linked work trees name programs in settings that only they have.
    """
    configure(scene.work, {key.format("x"): value for key, value in PLAIN.items()})
    configure(scene.work, {f"submodule.{name}.ignore": "none" for name in ("sub", "mod")})
    modules = "".join(
        f'[submodule "{name}"]\n path = {name}\n url = ../origin\n ignore = none\n'
        for name in ("sub", "mod")
    )
    (scene.work / ".gitmodules").write_text(modules)
    git(scene.work, "-c", "submodule.recurse=false", "add", ".gitmodules")
    (scene.work / ".gitmodules").unlink()
    for place in (scene.root / "tree", scene.work / "grove"):
        scene.set_traps(place, "y", "config.worktree")


def test_without_a_policy_git_starts_what_is_named_inside(scene: Scene, tmp_path: Path) -> None:
    other = scene.copy(tmp_path / "scene")
    trapped(other)
    lines = ["git status", "git diff", "git diff-files", "git diff-index HEAD", "git -C ../tree status", "git add .",
             "git worktree remove grove"]  # fmt: skip
    assert set(other.run(lines)) == set(lines)


@pytest.mark.parametrize(
    ("around", "lines"),
    [(as_made, ESSENTIAL), (trapped, reading_lines())],
    ids=["as made", "trapped"],
)
def test_what_reads_starts_nothing_and_changes_nothing(
    around: Callable[[Scene], None], lines: Sequence[str], scene: Scene, tmp_path: Path
) -> None:
    other = scene.copy(tmp_path / "scene")
    around(other)
    before = content(other.root)
    assert started(other, lines) == {}
    assert set(ESSENTIAL) - set(other.succeeded) <= {"git submodule status", "git submodule"}
    after = content(other.root)
    assert {
        name for name in before.keys() | after.keys() if before.get(name) != after.get(name)
    } == set()


def test_every_line_that_was_made_for_reading_reads() -> None:
    reads = BashToolPolicy()
    assert [line for line in ESSENTIAL if not reads.check(line).read_only] == []
    assert len(reading_lines()) > len(ESSENTIAL) + 25


def test_what_writes_starts_nothing(scene: Scene, tmp_path: Path) -> None:
    other = scene.copy(tmp_path / "scene")
    assert started(other, ["git add .", "git describe --dirty --always", "git commit -am x"]) == {}
    assert len(other.succeeded) == 3
    trapped(other)
    assert started(other, WRITES) == {}
    assert len(other.succeeded) > 25


def test_settings_that_hold_on_a_condition_stop_what_writes(scene: Scene, tmp_path: Path) -> None:
    other = scene.copy(tmp_path / "scene")
    (other.work / ".git/info/attributes").write_text("* filter=x-more\n")
    configure(other.work, {"includeIf.onbranch:other.path": str(other.root / "more")})
    writes = ["git worktree add ../new other", "git checkout other", "git commit -am x"]
    assert set(scene_copy_run(other, tmp_path, writes[:1])) == {writes[0]}
    assert (started(other, writes), other.succeeded) == ({}, [])
    assert started(other, ["git status", "git diff", "git log -p"]) == {}
    assert len(other.succeeded) == 3


def scene_copy_run(scene: Scene, tmp_path: Path, lines: list[str]) -> dict[str, str]:
    """What the lines start without a policy, in a copy."""
    return scene.copy(tmp_path / "raw").run(lines)


def test_a_repository_inside_whose_work_tree_is_elsewhere_stops_what_writes(
    scene: Scene, tmp_path: Path
) -> None:
    other = scene.copy(tmp_path / "scene")
    configure(other.work / "sub", {"core.worktree": str(other.root / "origin")})
    assert (started(other, ["git add .", "git commit -am x"]), other.succeeded) == ({}, [])
    assert started(other, ["git status", "git diff"]) == {}
    assert len(other.succeeded) == 2


def test_a_rebase_runs_no_lines_that_settings_put_into_its_list(
    scene: Scene, tmp_path: Path
) -> None:
    lines = ["git stash", "git rebase HEAD~1 --no-ff", "git rebase -i HEAD~1"]
    other = scene.copy(tmp_path / "scene")
    configure(other.work, {"rebase.instructionFormat": "%s%nexec ../evil"})
    assert scene_copy_run(other, tmp_path, lines) != {}
    assert started(other, lines) == {}
    assert len(other.succeeded) == len(lines)


@pytest.mark.parametrize(
    ("place", "text", "command"),
    [
        ("rebase-merge/git-rebase-todo", "noop\n \texec ../evil\n", "git rebase --continue"),
        ("rebase-merge/git-rebase-todo", "x ../evil\n", "git rebase --skip"),
        ("rebase-merge/strategy", "x/evil\n", "git rebase --continue"),
        ("sequencer/opts", "[options]\n\tstrategy = x/evil\n", "git cherry-pick --continue"),
        ("sequencer/opts", "[options]\n\tstrategy = ort\n\tstrategy = x/evil\n", "git revert --continue"),
    ],
)  # fmt: skip
def test_what_was_interrupted_is_not_resumed_with_a_program(
    place: str, text: str, command: str, scene: Scene, tmp_path: Path
) -> None:
    other = scene.copy(tmp_path / "scene")
    path = other.work / ".git" / place
    path.parent.mkdir()
    path.write_text(text)
    assert (started(other, [command]), other.succeeded) == ({}, [])
    path.write_text("" if place.endswith("opts") else "noop\n" if "todo" in place else "ort\n")
    assert "an interrupted" not in said(other, command)
    path.write_text(text)
    assert "an interrupted" in said(other, command)


def said(scene: Scene, command: str) -> str:
    """What a command says on standard error."""
    scene.run([f"( {POLICY.check(command).checked} ) 2> ../said"])
    return (scene.root / "said").read_text()


def test_other_repositories_are_reached_by_https_and_ssh_alone(scene: Scene) -> None:
    for url in ("http://127.0.0.1:1/x", "git://127.0.0.1:1/x", "file:///x", "../origin", "ext::x"):
        assert "not allowed" in said(scene, f"git ls-remote {url}"), url
    assert "not allowed" not in said(scene, "git ls-remote https://127.0.0.1:1/x")
