"""Standard streams that are closed, full, left by their reader or in a poor locale."""

import os
import resource
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


MUCH = 200_000
WRITES = f"""
import sys
from toolwright.cli._streams import OutputError, open_streams

open_streams()
try:
    sys.stdout.write("x" * {MUCH})
    sys.stdout.flush()
except BrokenPipeError:
    sys.exit(141)
except OutputError as error:
    sys.exit(str(error))
"""


@pytest.fixture(params=["", "1"], ids=["buffered", "unbuffered"])
def environment(request: pytest.FixtureRequest) -> dict[str, str]:
    return clean_environment(PYTHONUNBUFFERED=request.param)


def test_a_reader_that_leaves_is_noticed(environment: dict[str, str]) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", WRITES], env=environment, stdout=subprocess.PIPE
    ) as program:
        assert program.stdout is not None
        assert program.stdout.read(1) == b"x"
        program.stdout.close()
        assert program.wait(60) == 141


def test_a_file_that_takes_no_more_is_told(tmp_path: Path, environment: dict[str, str]) -> None:
    limit = MUCH // 2
    with (tmp_path / "out").open("wb") as file:
        done = subprocess.run(
            [sys.executable, "-c", WRITES], env=environment, stdout=file, stderr=subprocess.PIPE,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
        )  # fmt: skip
    assert (done.returncode, done.stderr) == (1, b"The output cannot be written: File too large.\n")
    assert (tmp_path / "out").stat().st_size == limit


def test_a_pipe_that_does_not_block_gets_all(environment: dict[str, str]) -> None:
    read, write = os.pipe()
    os.set_blocking(write, False)
    with subprocess.Popen([sys.executable, "-c", WRITES], env=environment, stdout=write) as program:
        os.close(write)
        found = bytearray()
        while piece := os.read(read, 1000):
            found += piece
        assert program.wait(60) == 0
    os.close(read)
    assert found == b"x" * MUCH


def test_a_command_whose_reader_leaves_says_so_unbuffered_too(desk: Path) -> None:
    (desk / "long.txt").write_text("x" * MUCH)
    line = f"toolwright run - {AGENT} < long.txt | head -c 1"
    assert shell(line, desk, PYTHONUNBUFFERED="1") == (141, "r")


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
