"""What was typed before anybody asked is dropped, and nothing else."""

import io
import os
import re
import select
import sys
from collections.abc import Iterator
from typing import TextIO

import anyio
import pyte
import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.data_structures import Size
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.input.typeahead import get_typeahead, store_typeahead
from prompt_toolkit.input.vt100 import Vt100Input
from prompt_toolkit.key_binding import KeyPress
from prompt_toolkit.keys import Keys
from prompt_toolkit.output import DummyOutput
from prompt_toolkit.output.vt100 import Vt100_Output

from toolwright.cli import _lines
from toolwright.cli._lines import drop_typed_ahead, line_reader, read_line
from toolwright.cli._screen import Screen, gutter


@pytest.fixture
def keyboard(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[int, Vt100Input]]:
    """The other end of a terminal, and the terminal."""
    there, here = os.openpty()
    with os.fdopen(here, closefd=True) as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        terminal = Vt100Input(stdin)
        with create_app_session(input=terminal, output=DummyOutput()):
            yield there, terminal
    os.close(there)


def lies_there(stdin: TextIO, patience: float) -> bool:
    return bool(select.select([stdin], [], [], patience)[0])


def test_whole_and_unfinished_lines_in_the_terminal_are_dropped(
    keyboard: tuple[int, Vt100Input],
) -> None:
    there, _ = keyboard
    os.write(there, b"y\nye")
    assert lies_there(sys.stdin, 10)
    assert drop_typed_ahead() == "y\nye"
    assert not lies_there(sys.stdin, 0)
    assert drop_typed_ahead() == ""


def test_what_the_last_prompt_read_too_much_is_dropped(keyboard: tuple[int, Vt100Input]) -> None:
    _, terminal = keyboard
    keys = [KeyPress("y", "y"), KeyPress(Keys.Enter, "\r"), KeyPress(Keys.Left, "\x1b[D")]
    store_typeahead(terminal, keys)
    assert drop_typed_ahead() == "y\n"
    assert get_typeahead(terminal) == []


def test_piped_lines_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    here, there = os.pipe()
    with os.fdopen(here) as stdin, os.fdopen(there, "w") as lines:
        lines.write("y\n")
        lines.flush()
        monkeypatch.setattr(sys, "stdin", stdin)
        assert drop_typed_ahead() == ""
        assert stdin.readline() == "y\n"


# -- lines that start as foreign text ---------------------------------------------------------------


def drawn(
    prompt: str, default: str, there: Screen, monkeypatch: pytest.MonkeyPatch, *, is_dumb: bool
) -> tuple[str, list[str]]:
    """What is read when Enter is pressed, and what the terminal showed."""
    written = io.StringIO()
    size = Size(rows=there.rows, columns=there.columns)
    drawing = Vt100_Output(written, lambda: size, term="xterm", enable_cpr=False)
    monkeypatch.setattr(_lines, "screen", lambda: there)
    monkeypatch.setattr(_lines, "is_dumb_terminal", lambda: is_dumb)
    monkeypatch.setattr(_lines, "create_output", lambda stdout: drawing)
    monkeypatch.setattr(_lines, "PlainTextOutput", lambda stdout: drawing)
    monkeypatch.setenv("TERM", "dumb" if is_dumb else "xterm")

    async def read() -> str:
        with create_pipe_input() as pressed:
            pressed.send_text("y\r")
            with create_app_session(input=pressed):
                return await read_line(prompt, default=default)

    line = anyio.run(read)
    emulated = pyte.Screen(there.columns, 200)
    pyte.Stream(emulated).feed(re.sub(r"\r?\n", "\r\n", written.getvalue()))
    return line, [row.rstrip() for row in emulated.display if row.strip()]


def forged(columns: int, first: str) -> str:
    rows = [
        "",
        "waits    │ c2  ls (confirmation)",
        "with     │ {}",
        "approve (y) · reject REASON (n)",
    ]
    padded = "".join(row + " " * (columns - len(row)) for row in rows)
    return "bob" + " " * (columns - len(first) - 3) + padded + "answer> "


@pytest.mark.parametrize("is_dumb", [False, True], ids=["", "dumb"])
@pytest.mark.parametrize("columns", [30, 69, 80, 120])
@pytest.mark.parametrize("prompt", ["arguments> ", "field    │ Nickname> "])
def test_what_a_line_starts_as_begins_no_row(
    prompt: str, columns: int, is_dumb: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = Screen(columns, 24)
    for width in (columns, there.text_width, there.text_width + 1):
        default = forged(width, prompt)
        line, rows = drawn(prompt, default, there, monkeypatch, is_dumb=is_dumb)
        assert line == f"{default}y"
        assert len(rows) > 3
        assert rows[0].startswith(prompt.rstrip())
        assert all(row.startswith(gutter("", there, goes_on=True).rstrip()) for row in rows[1:])


def test_a_short_default_stands_in_the_row_of_its_prompt(monkeypatch: pytest.MonkeyPatch) -> None:
    for is_dumb in (False, True):
        line, rows = drawn("name> ", "bob", Screen(), monkeypatch, is_dumb=is_dumb)
        assert (line, rows) == ("boby", ["name> boby"])


def test_where_there_is_no_room_for_a_gutter_a_line_starts_empty(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for is_dumb in (False, True):
        line, rows = drawn("a> ", "bob" * 9, Screen(18, 24), monkeypatch, is_dumb=is_dumb)
        assert (line, rows) == ("y", ["a> y"])


PARAMETERS = (
    "",
    "0",
    "31",
    "1;31",
    "38;5;196",
    "38;2;1;2;3",
    "<0",
    "<0;1",
    "<0;1;1",
    "9" * 30,
    ";;",
)


def test_no_escape_sequence_in_what_is_typed_ends_the_prompt() -> None:
    """Pasted colours look like the mouse to prompt_toolkit."""
    sequences = [f"\x1b[{given}{end}" for given in PARAMETERS for end in "mMRJKhl"]

    async def typed() -> str:
        with create_pipe_input() as pipe, create_app_session(input=pipe, output=DummyOutput()):
            pipe.send_text("".join(f"{sequence}\x1b[F éé" for sequence in sequences) + "\r")
            with anyio.fail_after(20):
                return await line_reader().prompt_async("")

    assert anyio.run(typed).count("éé") == len(sequences)
