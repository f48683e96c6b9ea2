"""Ask the person at the terminal what a pending call wants to know."""

from typing import Any

from toolwright.cli._form import REJECT, fields_of, fill_in
from toolwright.cli._go import UNANSWERED
from toolwright.cli._lines import drop_typed_ahead, read_line
from toolwright.cli._shorten import Room
from toolwright.cli._terminal import Terminal
from toolwright.cli._words import parse_answer, question, remember_words
from toolwright.errors import UsageError
from toolwright.messages import Pending, Reject, shown_json

__all__ = ["ask_person", "edit_arguments"]

_CONFIRM = "approve (y) · reject REASON (n) · edit (e) · show: in full"
_FORM = f"Ctrl-C leaves it waiting · {REJECT} REASON refuses"
_ANSWER = "Enter alone leaves it waiting · /show: in full · /reject REASON refuses"
_FEWEST_ROWS = 6
_OTHER_ROWS = 8
"""What the help, the notes and the line for the answer may take."""
_SHOW = object()
"""In place of an answer: show it in full."""


async def ask_person(pending: Pending) -> Any:
    """The answer, as `runner.answer` takes it, or `UNANSWERED`."""
    terminal = Terminal(stderr=True)
    _ask(pending, terminal)
    # Nobody can have meant this question by it.
    if text := drop_typed_ahead().strip():
        terminal.say(f"Typed before this question, so not taken for its answer: {text!r}")
    while True:
        try:
            answer = await _answer(pending)
        except UsageError as error:
            terminal.say(str(error), style="red")
            continue
        if answer is not _SHOW:
            return answer
        # The question comes again below all of it, so that what is decided on stays in sight.
        terminal.say(f"\n{question(pending)}\n")
        _ask(pending, terminal)


def _ask(pending: Pending, terminal: Terminal) -> None:
    """The question, short enough to be in sight as a whole."""
    columns, rows = terminal.size
    room = Room(columns, max(_FEWEST_ROWS, rows - _OTHER_ROWS))
    short = question(pending, None if fields_of(pending) else room)
    terminal.say(f"\n{short}", style="cyan")
    terminal.say(_help(pending), style="dim")


def _help(pending: Pending) -> str:
    if pending.kind == "confirmation":
        words = "|".join(remember_words(pending))
        return f"{_CONFIRM} · always [{words}] (a): not again" if words else _CONFIRM
    return _FORM if fields_of(pending) else _ANSWER


async def _answer(pending: Pending) -> Any:
    if fields_of(pending):
        return await fill_in(pending, lambda prompt, default: read_line(prompt, default=default))
    text = (await read_line("answer> ")).strip()
    if text == "/show" or (pending.kind == "confirmation" and text == "show"):
        return _SHOW
    if pending.kind == "confirmation":
        if text in ("e", "edit"):
            text = f"edit {await edit_arguments(pending)}"
        return parse_answer(pending, text)
    if text.split(" ")[0] == REJECT:
        return Reject(reason=text.removeprefix(REJECT).strip())
    return parse_answer(pending, text) if text else UNANSWERED


async def edit_arguments(pending: Pending) -> str:
    """The call's arguments as the person changed them."""
    return await read_line("arguments> ", default=shown_json(pending.arguments))
