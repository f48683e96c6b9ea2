"""Read what a person types, so that a read that is given up swallows nothing typed after it.

A thread that waits in `input()` cannot be stopped: it would take the next line, whoever that was
meant for.
"""

import sys

from prompt_toolkit import PromptSession
from prompt_toolkit.application import create_app_session, get_app_session
from prompt_toolkit.history import History
from prompt_toolkit.input.typeahead import get_typeahead
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.output import create_output
from prompt_toolkit.output.plain_text import PlainTextOutput
from prompt_toolkit.utils import is_dumb_terminal

from toolwright.cli._screen import Screen, cells, gutter, screen, wrap

__all__ = ["drop_typed_ahead", "line_reader", "read_line"]

_LINE_ENDS = (Keys.Enter, Keys.ControlJ)


def line_reader(
    *, history: History | None = None, enable_open_in_editor: bool = False
) -> PromptSession[str]:
    """What reads lines from the terminal, whatever is typed or pasted there."""
    bindings = KeyBindings()
    # The mouse is not used. prompt_toolkit takes a colour in pasted text (`ESC [31m`) for it, and fails.
    bindings.add(Keys.Vt100MouseEvent, eager=True)(_ignore)
    return PromptSession(
        history=history, enable_open_in_editor=enable_open_in_editor, key_bindings=bindings
    )


def _ignore(event: KeyPressEvent) -> None:
    """Do nothing."""


async def read_line(prompt: str, default: str = "") -> str:
    """One line, which starts as `default`; the prompt is on standard error.

    A default is mostly foreign text: each row that the line goes on in begins with a gutter, and where
    there is no room for one, the line starts empty. Raises `KeyboardInterrupt` for Ctrl-C and
    `EOFError` for Ctrl-D.
    """
    there = screen()
    default = default if there.is_wide_enough else ""
    # Not the session's own output: with that, it would not see that a terminal can do nothing.
    is_dumb = is_dumb_terminal()
    output = PlainTextOutput(sys.stderr) if is_dumb else create_output(stdout=sys.stderr)
    with create_app_session(output=output):
        lines = line_reader(enable_open_in_editor=True)
        # Such a terminal is shown the prompt and each key, but not what the line starts as.
        shown = _with_default(prompt, default, there) if is_dumb else prompt
        # Its own signal handler would take the place of ours and leave none behind.
        return await lines.prompt_async(
            shown, default=default, handle_sigint=False, prompt_continuation=_goes_on
        )


def _goes_on(width: int, line: int, wraps: int) -> str:
    """What a row of the line begins with, in a terminal that may have been made smaller since."""
    there = screen()
    return gutter("", there, goes_on=True)[0 if there.is_wide_enough else -2 :]


def _with_default(prompt: str, default: str, there: Screen) -> str:
    """A prompt with the beginning of its line, in rows that such a terminal does not have to wrap."""
    last = prompt.rpartition("\n")[2]
    if cells(last + there.spell(default)) <= there.width:
        return prompt + default
    begins = gutter("", there, goes_on=True)
    rows = [begins + row for row in wrap(there.spell(default), there.text_width)]
    return "\n".join([prompt, *rows])


def drop_typed_ahead() -> str:
    """Forget what was typed and not read yet; the text of it. Only a terminal is emptied."""
    if not sys.stdin.isatty():
        return ""
    terminal = get_app_session().input
    # What the last prompt took from the terminal and did not need, then what still lies there.
    keys = get_typeahead(terminal)
    with terminal.raw_mode():
        while found := terminal.read_keys():
            keys += found
        keys += terminal.flush_keys()
    return "".join(
        "\n" if key.key in _LINE_ENDS else key.data
        for key in keys
        if key.data.isprintable() or key.key in (*_LINE_ENDS, Keys.BracketedPaste)
    )
