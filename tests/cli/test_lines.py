"""What was typed before anybody asked is dropped, and nothing else."""

import os
import select
import sys
from collections.abc import Iterator
from typing import TextIO

import anyio
import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.input.typeahead import get_typeahead, store_typeahead
from prompt_toolkit.input.vt100 import Vt100Input
from prompt_toolkit.key_binding import KeyPress
from prompt_toolkit.keys import Keys
from prompt_toolkit.output import DummyOutput

from toolwright.cli._lines import drop_typed_ahead, line_reader


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
