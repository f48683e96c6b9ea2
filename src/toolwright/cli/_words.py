"""Answers to pending calls in words that a person types, and what a call asks in words to read."""

import shlex
from collections.abc import Iterable
from typing import Any, cast

from toolwright.cli._json import read_json
from toolwright.cli._shorten import Room, fit, height, shorten
from toolwright.errors import UsageError
from toolwright.messages import (
    Approve,
    Pending,
    Reject,
    Remember,
    pretences,
    shown_json,
    shown_text,
    visible,
)
from toolwright.tools import answer_from_text

__all__ = [
    "choices",
    "find_call",
    "how_to_answer",
    "parse_answer",
    "question",
    "quoted_id",
    "remember_words",
]

_YES = frozenset({"approve", "yes", "y", "true"})
_NO = frozenset({"reject", "no", "n", "false"})


def question(pending: Pending, room: Room | None = None) -> str:
    """What the call asks, with its arguments; in full, or shortened to the room there is."""
    head = _line(f"{pending.call_id}  {pending.name} ({pending.kind})")
    # Further lines of a hint are indented: none of them looks like ours.
    head = f"{head} {shown_text(pending.hint)}".rstrip().replace("\n", "\n    ")
    bodies, shown = [], [pending.hint, pending.payload]
    if pending.kind not in ("choice", "input"):  # there the hint and the payload say it all
        bodies.append(shown_json(pending.arguments, indent=2))
        shown.append(pending.arguments)
    if pending.payload is not None:
        bodies.append(_payload(pending))
    parts = [head, *bodies] if room is None else _shortened(head, bodies, room)
    if pending.rule:
        parts.append(_line(f"(asked by {pending.rule})"))
    parts += pretences(*shown)
    return "\n".join(parts)


def _shortened(head: str, bodies: list[str], room: Room) -> list[str]:
    short = fit(head, Room(room.columns, room.rows // 3))
    left = Room(room.columns, (room.rows - height(short, room)) // max(1, len(bodies)))
    parts = [short, *(fit(body, left) for body in bodies)]
    length = sum(map(len, [head, *bodies]))
    is_whole = parts == [head, *bodies]
    return parts if is_whole else [*parts, f"({length:,} characters; `show` prints them all)"]


def _line(text: str) -> str:
    return visible(text, lines=False)


def find_call(waiting: Iterable[Pending], call: str) -> Pending | None:
    """The call with this id, as it is or as it was shown; `UsageError` when it may be several."""
    found = [pending for pending in waiting if call in (pending.call_id, _line(pending.call_id))]
    if len(found) > 1:
        raise UsageError(
            f"{len(found)} calls that wait have ids which are shown as {call!r}; the web "
            "page (`toolwright serve`) and programs tell them apart."
        )
    return found[0] if found else None


def quoted_id(pending: Pending) -> str:
    """The call's id as a word for a shell."""
    return shlex.quote(_line(pending.call_id))


def how_to_answer(pending: Pending, command: str) -> str:
    """The command that answers the call, and the other answers it takes."""
    if pending.kind == "confirmation":
        more = choices(pending).partition(" | ")[2]
        return f"answer: {command} approve\n        or, in place of approve: {more}"
    # A shell refuses the placeholder, so that it is never sent as an answer.
    return f"answer: {command} <VALUE>\n        or, in place of <VALUE>: --reject REASON"


def choices(pending: Pending) -> str:
    """The answers that the call takes, as words."""
    if pending.kind == "confirmation":
        always = f" | always [{'|'.join(words)}]" if (words := remember_words(pending)) else ""
        return f"approve | reject REASON{always} | edit '{{…}}'"
    return "VALUE | --reject REASON"


def remember_words(pending: Pending) -> dict[str, str]:
    """What may follow `always`, and what it means; a tool's own question is asked every time."""
    if not pending.rule:
        return {}
    words = {
        "arguments": "the same arguments in this session",
        "session": f"{pending.name} in this session",
        "user": f"{pending.name} for this user until it changes",
    }
    if isinstance(pending.payload, dict) and isinstance(pending.payload.get("source"), str):
        words["source"] = f"all tools of {pending.payload['source']} as they are now"
    return words


def _payload(pending: Pending) -> str:
    options = _options(pending)
    if options:
        numbers = [f"{number}." for number in _numbers(options)] or ["-"] * len(options)
        shown = [shown_text(str(option), lines=False) for option in options]
        return "\n".join(f"{number} {text}" for number, text in zip(numbers, shown, strict=True))
    return shown_json(pending.payload, indent=2)


def _options(pending: Pending) -> list[Any]:
    payload = pending.payload
    options = payload.get("options") if isinstance(payload, dict) else None
    return options if pending.kind == "choice" and isinstance(options, list) else []


def _numbers(options: list[Any]) -> list[str]:
    """What options are chosen by; nothing where one of them is such a number itself.

    Then "2" could be meant for either of two, so that only the option's own text counts.
    """
    numbers = [str(n) for n in range(1, len(options) + 1)]
    return [] if {str(option).strip() for option in options} & {*numbers} else numbers


def parse_answer(pending: Pending, text: str) -> Any:
    """The answer as a runner takes it; `UsageError` says which words there are."""
    if pending.kind == "confirmation":
        return _confirmation(pending, text)
    options = _options(pending)
    if text in (numbers := _numbers(options)):
        return options[numbers.index(text)]
    return answer_from_text(pending, text)


def _confirmation(pending: Pending, text: str) -> Approve | Reject:
    first, _, rest = text.strip().partition(" ")
    word, rest = first.lower(), rest.strip()
    if word in _NO:
        return Reject(reason=rest)
    if word == "edit" and rest:
        return Approve(arguments=_edited(rest))
    if word == "edit":
        raise UsageError(
            f"`edit` needs the arguments to run it with, now: edit '{shown_json(pending.arguments)}'"
        )
    # More words after a yes may take it back: "yes, but not today" is not clearly a yes.
    if word in _YES and not rest:
        return Approve()
    words = remember_words(pending)
    if word in ("always", "a") and words:
        if (rest or "session") in words:
            return Approve(remember=cast("Remember", rest or "session"))
        offered = "; ".join(f"{key}: {meaning}" for key, meaning in words.items())
        raise UsageError(f"After `always` comes nothing or one of these words. {offered}.")
    raise UsageError(
        f"{shorten(_line(text), 200)!r} is no answer to {pending.call_id}; answer with {choices(pending)}."
    )


def _edited(text: str) -> dict[str, Any]:
    try:
        edited = read_json(text)
    except ValueError as error:
        raise UsageError(f"The edited arguments cannot be read as JSON: {error}.") from error
    if not isinstance(edited, dict):
        raise UsageError(f"The edited arguments must be a JSON object; got {shorten(text, 200)!r}.")
    return edited
