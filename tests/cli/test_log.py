"""What long-running commands log: one safe line for each record, tracebacks for the verbose."""

import json
import logging
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.cli.program import DESK, clean_environment, here

from toolwright.cli._log import JsonLine, OneLine, _NotAgain, log_lines, log_warnings

SECRET = "sk-abcdefghijklmnop1234"


def record(message: str, *values: object, error: BaseException | None = None) -> logging.LogRecord:
    found = None if error is None else (type(error), error, error.__traceback__)
    return logging.LogRecord("toolwright", logging.ERROR, "x", 1, message, values, found)


def raised(text: str) -> BaseException:
    try:
        raise ValueError(text)
    except ValueError as error:
        return error


def test_a_record_is_one_line_without_secrets_and_nothing_in_it_is_unseen() -> None:
    line = OneLine(False).format(record("a\n%s\x1b[2J", f"key {SECRET}"))
    assert line.endswith(r"ERROR   a key [redacted]\u001b[2J")
    assert "\n" not in line


def test_an_error_of_several_lines_is_told_whole_and_its_traceback_to_the_verbose() -> None:
    error = raised(f"first\n  second {SECRET}")
    line = OneLine(False).format(record("It failed", error=error))
    assert line.endswith(
        "It failed: ValueError: first second [redacted] (--verbose has the traceback)"
    )
    verbose = OneLine(True).format(record("It failed", error=error))
    assert "\nTraceback (most recent call last):\n  File" in verbose
    assert SECRET not in verbose


def test_a_traceback_inside_a_message_is_cut_down_to_its_error() -> None:
    trace = "Traceback (most recent call last):\n  File x\n    y()\n"
    text = f"tool 'a' raised\n{trace}KeyError: 1\n\nDuring handling of it\n\n{trace}ValueError: no\nmore"
    line = OneLine(False).format(record("%s", text))
    assert line.endswith("tool 'a' raised: ValueError: no more (--verbose has the traceback)")


def test_half_a_secret_is_not_left_by_cutting_a_long_line() -> None:
    line = OneLine(False).format(record("%s", "x" * 990 + f" {SECRET} " + "y" * 5000))
    assert "characters" in line
    assert "sk-" not in line


def test_a_record_is_a_json_object_with_the_fields_that_its_caller_gave() -> None:
    said = record("task %s\nis done\x1b[2J, key %s", "t1", SECRET)
    said.__dict__ |= {"event": "done", "task": "t1", "agent": "clerk"}
    line = JsonLine(False, task=lambda: "other").format(said)
    assert line.isascii()
    found = json.loads(line)
    assert datetime.fromisoformat(found.pop("time")).tzinfo is UTC
    assert found == {
        "level": "error",
        "event": "done",
        "task": "t1",
        "agent": "clerk",
        "message": "task t1 is done\x1b[2J, key [redacted]",
    }
    failed = json.loads(JsonLine(True, task=lambda: "t2").format(record("no", error=raised("x"))))
    assert (failed["task"], failed["message"]) == ("t2", "no: ValueError: x")
    assert failed["traceback"].startswith("Traceback (most recent call last):\n")


def test_what_was_said_a_moment_ago_is_not_said_again() -> None:
    news = _NotAgain(OneLine(False))
    assert news.filter(record("away"))
    assert not news.filter(record("away"))
    assert news.filter(record("back"))


def test_only_one_handler_of_ours_writes() -> None:
    root, level = logging.getLogger(), logging.getLogger("toolwright").level
    before = list(root.handlers)
    root.handlers.clear()  # Another test's may be among them.
    try:
        log_warnings()
        log_lines(logging.WARNING, verbose=False)
        assert len(root.handlers) == 1
        assert logging.getLogger("toolwright").level == logging.WARNING
    finally:
        root.handlers[:] = before
        logging.getLogger("toolwright").setLevel(level)


STORES = f"""
from toolwright import Runner
from toolwright.backends import MemoryStore


class Odd(MemoryStore):
    async def find(self, app_name, session_id):
        raise ZeroDivisionError("no {SECRET}")


class Worse(MemoryStore):
    async def sessions(self, app_name, user_id=None):
        raise ZeroDivisionError("no {SECRET}")


odd = Runner(agent, store=Odd())
worse = Runner(agent, store=Worse())
"""


def test_serve_logs_what_its_answers_say_is_in_the_log_and_never_the_token(tmp_path: Path) -> None:
    (tmp_path / "desk.py").write_text(DESK + STORES)
    words = ["serve", "desk:odd", "--port", "0", "--token", "hunter2hunter2"]
    with subprocess.Popen(
        [sys.executable, "-m", "toolwright.cli", *words], cwd=tmp_path, env=clean_environment(),
        stderr=subprocess.PIPE, text=True,
    ) as server:  # fmt: skip
        assert server.stderr is not None
        said = server.stderr.readline()
        assert "Toolwright is at http://127.0.0.1:" in said
        assert server.stderr.readline() == "Sign in with the token that was set.\n"
        request = urllib.request.Request(
            f"{said.split()[-1]}/api/sessions/s1",
            headers={"Authorization": "Bearer hunter2hunter2"},
        )
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request, timeout=60)
        assert "the server's log has the details" in json.load(refused.value)["detail"]
        line = server.stderr.readline()
        server.terminate()
        rest = server.stderr.read()
    assert "ERROR   GET /api/sessions/s1 failed: ZeroDivisionError: no [redacted]" in line
    assert "(--verbose has the traceback)" in line
    assert rest == ""


def test_a_server_that_cannot_start_says_no_address_and_fails(tmp_path: Path) -> None:
    (tmp_path / "desk.py").write_text(DESK + STORES)
    told = here("serve", "desk:worse", "--port", "0", cwd=tmp_path, check=1).stderr
    assert "ERROR   ZeroDivisionError: no [redacted] (--verbose has the traceback)\n" in told
    assert told.endswith("\nThe server could not start; the log has the reason.\n")
    assert "http://" not in told


@pytest.mark.parametrize("port", ["99999", "-1"])
@pytest.mark.parametrize("command", [("serve",), ("mcp", "serve", "--http")], ids=" ".join)
def test_a_port_that_is_none_is_a_mistake(
    tmp_path: Path, command: tuple[str, ...], port: str
) -> None:
    told = here(*command, "--port", port, "--model", "me", cwd=tmp_path, check=2)
    assert told.stderr == (
        f"A port is a number from 0 to 65535, and 0 is any free one; got {port}.\n"
    )


def test_a_port_that_is_taken_is_told_before_any_address_or_token(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        for command in (("serve",), ("mcp", "serve", "--http")):
            told = here(*command, "--port", port, "--model", "me", cwd=tmp_path, check=2)
            assert told.stderr == (
                f"Cannot listen on 127.0.0.1, port {port}: Address already in use. Choose another "
                "port, or 0 for any free one.\n"
            )
