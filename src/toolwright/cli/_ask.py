"""Ask the person at the terminal what a pending call wants to know."""

from typing import Any

from toolwright.cli._card import Card, laid, laid_own, lay_out, whole_rows
from toolwright.cli._form import REJECT, fields_of, fill_in
from toolwright.cli._go import UNANSWERED
from toolwright.cli._lines import drop_typed_ahead, read_line
from toolwright.cli._screen import screen
from toolwright.cli._terminal import Terminal
from toolwright.cli._words import parse_answer, remember_words
from toolwright.errors import UsageError
from toolwright.messages import Pending, Reject, shown_json

__all__ = ["CHAT_COMMANDS", "Left", "ask_person", "edit_arguments"]

CHAT_COMMANDS = ("/help", "/sessions", "/resume", "/answer", "/tools", "/new", "/exit")
"""What a chat takes for commands: at a question nobody means them as its answer."""
_CONFIRM = "approve (y) · reject REASON (n) · edit (e) · show: in full"
_FORM = f"Ctrl-C leaves it waiting · {REJECT} REASON refuses"
_ANSWER = "Enter alone leaves it waiting · /show: in full · /reject REASON refuses · /exit leaves"
_LOOK_FIRST = (
    "Not all that would be decided on fits this screen. Look at it first: `show` (`/show` for what is "
    "no confirmation) pages through it to its end; or make the terminal larger."
)
_UNSEEN = "show: page through it · reject REASON (n)"
_PAGE, _LAST_PAGE = "Enter: more · q: back> ", "(end) Enter: back> "
_OTHER_ROWS = 2
"""What the line for the answer takes, and an empty one above the question."""
_SHOW = object()
"""In place of an answer: show it in full."""


class Left(EOFError):
    """The person has left at a question, which goes on waiting."""


async def ask_person(pending: Pending) -> Any:
    """The answer, as `runner.answer` takes it, or `UNANSWERED`."""
    terminal = Terminal(stderr=True)
    card = _ask(pending, terminal)
    seen = False
    if note := _drop_typed_ahead():
        card = _ask(pending, terminal, note)
    if fields_of(pending) and not card.is_whole:
        seen = await _page(pending, terminal)
        card = _ask(pending, terminal, note, seen=seen)
    while True:
        try:
            answer, note = await _answer(pending, may_decide=card.is_enough or seen), ""
        except UsageError as error:
            answer, note = _SHOW, str(error)
        if answer is not _SHOW:
            return answer
        if not note:
            seen = await _page(pending, terminal) or seen
        # The question comes again below all of it, so that what is decided on stays in sight.
        note = " ".join(filter(None, [note, _drop_typed_ahead()]))
        card = _ask(pending, terminal, note, seen=seen)


def _drop_typed_ahead() -> str:
    """What to say of what was typed before the question: nobody can have meant it by that."""
    text = drop_typed_ahead().strip()
    return f"Typed before this question, so not taken for its answer: {text!r}" if text else ""


def _ask(pending: Pending, terminal: Terminal, note: str = "", *, seen: bool = False) -> Card:
    """The question with all that is printed below it, short enough to be in sight as a whole."""
    there = screen()
    notes = laid("note", note, there, there.rows // 4) if note else []
    words = laid_own(_help(pending), there)
    room = there.rows - _OTHER_ROWS - len(notes) - len(words)
    card = lay_out(pending, there, max(0, room))
    terminal.say("\n" + "\n".join(card.rows), style="cyan")
    if notes:
        terminal.say("\n".join(notes), style="red")
    if not card.is_enough and not seen and pending.kind == "confirmation":
        words = laid_own(_UNSEEN, there)
    terminal.say("\n".join(words), style="dim")
    return card


async def _page(pending: Pending, terminal: Terminal) -> bool:
    """Show all of it, a screen at a time; whether the person came to its end."""
    there = screen()
    rows, size = whole_rows(pending, there), max(1, there.rows - 1)
    for at in range(0, len(rows), size):
        terminal.say("\n".join(rows[at : at + size]))
        is_last = at + size >= len(rows)
        if (await read_line(_LAST_PAGE if is_last else _PAGE)).strip():
            return False
    return there.is_wide_enough


def _help(pending: Pending) -> str:
    if pending.kind == "confirmation":
        words = "|".join(remember_words(pending))
        return f"{_CONFIRM} · always [{words}] (a): not again" if words else _CONFIRM
    return _FORM if fields_of(pending) else _ANSWER


async def _answer(pending: Pending, *, may_decide: bool) -> Any:
    if fields_of(pending):
        answer = await fill_in(pending, _read)
    else:
        answer = await _read_answer(pending, may_decide=may_decide)
    if may_decide or answer is UNANSWERED or answer is _SHOW or isinstance(answer, Reject):
        return answer
    raise UsageError(_LOOK_FIRST)


async def _read_answer(pending: Pending, *, may_decide: bool) -> Any:
    text = (await _read("answer> ")).strip()
    if text == "/show" or (pending.kind == "confirmation" and text == "show"):
        return _SHOW
    if pending.kind == "confirmation":
        if text in ("e", "edit") and may_decide:
            text = f"edit {await edit_arguments(pending)}"
        elif text in ("e", "edit"):
            raise UsageError(_LOOK_FIRST)
        return parse_answer(pending, text)
    if text.split(" ")[0] == REJECT:
        return Reject(reason=text.removeprefix(REJECT).strip())
    return parse_answer(pending, text) if text else UNANSWERED


async def _read(prompt: str, default: str = "") -> str:
    """A line that is no command."""
    text = await read_line(prompt, default=default)
    command = text.strip().partition(" ")[0]
    if command == "/exit":
        raise Left
    if command in CHAT_COMMANDS:
        raise UsageError(
            f"{command} is a command of a chat and was not sent as the answer. Leave the question first "
            "(Ctrl-C), or send it with `toolwright sessions answer` if it is meant."
        )
    return text


async def edit_arguments(pending: Pending) -> str:
    """The call's arguments as the person changed them."""
    return await read_line("arguments> ", default=shown_json(pending.arguments))
