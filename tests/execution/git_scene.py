"""A repository with others inside it, each of which names a program wherever git takes one."""

import os
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

HOOKS = (
    "applypatch-msg", "commit-msg", "post-applypatch", "post-checkout", "post-commit", "post-index-change",
    "post-merge", "post-rewrite", "pre-applypatch", "pre-auto-gc", "pre-commit", "pre-merge-commit", "pre-push",
    "pre-rebase", "prepare-commit-msg", "reference-transaction", "sendemail-validate", "fsmonitor-watchman",
)  # fmt: skip
PROGRAMS = (
    "core.alternateRefsCommand", "core.askPass", "core.editor", "core.fsmonitor", "core.gitProxy", "core.pager",
    "core.sshCommand", "credential.helper", "credential.https://127.0.0.1.helper", "diff.external",
    "diff.{0}.command", "diff.{0}.textconv", "filter.{0}.clean", "filter.{0}.process", "filter.{0}.smudge",
    "gc.recentObjectsHook", "gpg.program", "gpg.ssh.defaultKeyCommand", "gpg.ssh.program",
    "hook.{0}.command", "interactive.diffFilter", "man.{0}.cmd", "merge.{0}.driver", "pager.diff", "pager.log", "pager.status",
    "remote.origin.receivepack", "remote.origin.uploadpack", "sequence.editor", "tar.{0}.command",
    "trailer.{0}.cmd", "trailer.{0}.command", "uploadpack.packObjectsHook",
)  # fmt: skip
PLAIN = {
    "commit.gpgSign": "true", "diff.{0}.cachetextconv": "true", "diff.ignoreSubmodules": "none",
    "diff.submodule": "diff", "filter.{0}.required": "true", "log.diffMerges": "remerge",
    "log.showSignature": "true", "rebase.instructionFormat": "%s%nexec ../evil instructions",
    "status.submoduleSummary": "true", "submodule.recurse": "true",
}  # fmt: skip
"""Settings that invite git into repositories inside, or make it use the programs above."""
_WHO = ("-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "protocol.file.allow=always")


class Scene:
    """The repository `work`, and what lies in and beside it.

    `sub` is a repository inside with `sub/deep` inside it, `mod` a submodule, `loose` is not tracked, and
    `../tree` and `grove` are linked work trees of it.
    """

    def __init__(self, root: Path) -> None:
        self.root, self.work, self._trace = root, root / "work", root / "trace"
        self.evil = root / "evil"
        self.evil.write_text(f'#!/bin/sh\necho "$0 $* in $PWD" >> {self._trace}\n')
        self.evil.chmod(0o755)
        self._hooks = root / "hooks"
        self._hooks.mkdir()
        for name in HOOKS:
            os.link(self.evil, self._hooks / name)
        self.succeeded: list[str] = []
        self._make()
        for place in self.inside:
            self.set_traps(place)
        self.disturb()
        self.started()

    @property
    def inside(self) -> list[Path]:
        """The repositories whose settings git may not obey."""
        return [self.work / name for name in ("sub/deep", "sub", "mod", "loose")]

    def _make(self) -> None:
        for name in ("origin", "work", "work/sub", "work/sub/deep", "work/loose"):
            _repository(self.root / name)
        git(self.work / "sub", "add", "deep")
        git(self.work / "sub", "commit", "-qm", "deep")
        git(self.work, "submodule", "add", "-q", "../origin", "mod")
        (self.work / ".gitattributes").write_text("*.txt diff=x filter=x merge=x\n")
        git(self.work, "add", "sub", ".gitattributes")
        git(self.work, "commit", "-qm", "inside")
        git(self.work, "branch", "other")
        git(self.work, "config", "extensions.worktreeConfig", "true")
        for place in ("../tree", "grove"):
            git(self.work, "worktree", "add", "-q", "--detach", place, "HEAD~1")

    def set_traps(self, place: Path, name: str = "x", file: str = "config") -> None:
        """Let the repository at `place` name a program everywhere, also in a file that it includes."""
        settings = {key.format(name): str(self.evil) for key in PROGRAMS}
        settings |= {key.format(name): value for key, value in PLAIN.items()}
        settings |= {"core.hooksPath": str(self._hooks), "include.path": str(self.root / "more")}
        configure(place, settings, file)
        more = {f"filter.{name}-more.{what}": str(self.evil) for what in ("clean", "smudge")}
        (self.root / "more").write_text(
            "".join(_setting(key, value) for key, value in more.items())
        )
        attributes = f"*.txt diff={name} filter={name} merge={name}\n*.md filter={name}-more\n"
        _path(place, "info/attributes").write_text(attributes)

    def disturb(self) -> None:
        """Change files everywhere, so that git must compare what is in them."""
        for place in (self.work, self.root / "tree", self.work / "grove", *self.inside):
            for name in ("a.txt", "b.md"):
                path = place / name
                path.write_text(path.read_text() + "more\n")
                os.utime(path, (1, 1))

    def run(self, commands: Sequence[str], cwd: str = ".") -> dict[str, str]:
        """The commands that started a program, with which; all run in one shell, one after another."""
        steps = [
            f"( {command}\n) </dev/null >/dev/null 2>&1; echo did {number} $? >> {self._trace}"
            for number, command in enumerate(commands)
        ]
        script = self.root / "script"
        script.write_text("\n".join(steps))
        subprocess.run(["bash", str(script)], cwd=self.work / cwd, timeout=120, check=False)
        script.unlink()
        found: dict[str, str] = {}
        seen: list[str] = []
        self.succeeded = []
        for line in self.started().splitlines():
            if not line.startswith("did "):
                seen.append(line.removeprefix(f"{self.root}/"))
                continue
            command, code = commands[int(line.split()[1])], line.split()[2]
            self.succeeded += [command] if code == "0" else []
            found |= {command: seen[0]} if seen else {}
            seen = []
        return found

    def started(self) -> str:
        """What was started since this was last asked."""
        text = self._trace.read_text() if self._trace.exists() else ""
        self._trace.unlink(missing_ok=True)
        return text

    def copy(self, root: Path) -> "Scene":
        """The same elsewhere; everything that names a path is rewritten."""
        shutil.copytree(self.root, root, symlinks=True)
        other = object.__new__(Scene)
        other.root, other.work, other.evil = root, root / "work", root / "evil"
        other._trace, other._hooks = root / "trace", root / "hooks"
        for path in _texts(root):
            path.write_bytes(path.read_bytes().replace(bytes(self.root), bytes(root)))
        return other


def git(place: Path, *argv: str) -> str:
    """Run git there as it is, and return what it says."""
    done = subprocess.run(
        ["git", *_WHO, *argv], cwd=place, check=True, capture_output=True, text=True
    )
    return done.stdout


def configure(place: Path, settings: Mapping[str, str], file: str = "config") -> None:
    """Add settings to those of a repository, or in `config.worktree` to those of a work tree alone."""
    with _path(place, file).open("a") as config:
        config.writelines(_setting(key, value) for key, value in settings.items())


def _setting(key: str, value: str) -> str:
    section, _, name = key.rpartition(".")
    section, _, subsection = section.partition(".")
    head = f'{section} "{subsection}"' if subsection else section
    return f"[{head}]\n\t{name} = {value}\n"


def _path(place: Path, name: str) -> Path:
    return place / git(place, "rev-parse", "--git-path", name).strip()


def _repository(place: Path) -> None:
    place.mkdir()
    git(place, "init", "-q", "-b", "main")
    configure(place, {"user.name": "a", "user.email": "a@b.c"})
    for number in range(2):
        (place / "a.txt").write_text(f"{number}\n")
        (place / "b.md").write_text(f"{number}\n")
        git(place, "add", ".")
        git(place, "commit", "-qm", f"{number}")


def _texts(root: Path) -> Iterable[Path]:
    names = ("evil", "config", "config.worktree", "gitdir", "commondir", ".git", "more")
    found = (p for p in root.rglob("*") if p.name in names or p.parent.name == "hooks")
    return [path for path in found if path.is_file() and not path.is_symlink()]
