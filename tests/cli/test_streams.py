"""Standard streams that are closed, full, left by their reader or in a poor locale."""

import shlex
import subprocess
import sys
from pathlib import Path

import pexpect
import pytest
from tests.cli.program import DESK, clean_environment

AGENT = "--agent desk:agent --store memory://"


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    (tmp_path / "desk.py").write_text(DESK)
    return tmp_path


def shell(line: str, cwd: Path, **environment: str) -> tuple[int, str]:
    """Run a line with `toolwright` in a shell: the program's exit code and all that is printed."""
    program = f"{shlex.quote(sys.executable)} -m toolwright.cli"
    done = subprocess.run(
        ["/bin/bash", "-c", f"set -o pipefail; toolwright() {{ {program} \"$@\"; }}; {line}"],
        cwd=cwd, env=clean_environment(**environment), stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("line", "code", "told"),
    [
        (f"toolwright run hi {AGENT} <&-", 0, "read: hi\n"),
        (f"toolwright run - {AGENT} <&-", 2, "which is empty"),
        (f"toolwright run hi {AGENT} >&-", 1, "The output cannot be written: Bad file descriptor."),
        ("toolwright --help >/dev/full", 1, "The output cannot be written: No space left"),
        ("toolwright run --help >/dev/full", 1, "The output cannot be written: No space left"),
        (f"toolwright run 'wipe {{\"scope\": \"x\"}}' {AGENT} 2>&-", 3, ""),
        ("toolwright sessions list --bogus 2>/dev/full", 2, ""),
        ("toolwright run --help | true", 141, ""),
        (f"toolwright tools list {AGENT.split(' --store')[0]} | true", 141, ""),
        ("toolwright run 'Grüße' --agent desk:agent", 0, "read: Gr\\xfc\\xdfe\n"),
        ("toolwright run $'\\xff' --agent desk:agent", 2, "not text in UTF-8"),
    ],
)  # fmt: skip
def test_a_stream_that_cannot_be_used_is_told_in_one_line_or_done_without(
    desk: Path, line: str, code: int, told: str
) -> None:
    found, shown = shell(line, desk, LC_ALL="C", PYTHONUTF8="0")
    assert found == code, shown
    assert told in shown
    assert "Traceback" not in shown
    assert "Exception ignored" not in shown


def test_a_terminal_that_knows_ascii_only_shows_marks(desk: Path) -> None:
    child = pexpect.spawn(
        sys.executable, ["-m", "toolwright.cli", "run", 'wipe {"scope": "Grüße"}', "--agent", "desk:agent"],
        cwd=str(desk), env=clean_environment(LC_ALL="C", PYTHONUTF8="0", TERM="xterm", HOME=str(desk)),
        encoding="utf-8", timeout=30, dimensions=(40, 200),
    )  # fmt: skip
    child.expect("answer>")
    child.sendline("yes")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0, child.before
    assert "Traceback" not in str(child.before)
    assert r"wiped Gr\xfc\xdfe" in str(child.before)
