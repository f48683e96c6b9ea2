"""Answers to pending calls in words that a person types, and what a call asks in words to read."""

import shlex
from collections.abc import Iterable
from typing import Any, cast

from toolwright.backends import is_expired
from toolwright.cli._card import numbers_of, options_of, whole_rows
from toolwright.cli._json import read_json
from toolwright.cli._screen import screen
from toolwright.cli._shorten import shorten
from toolwright.errors import UsageError
from toolwright.messages import (
    Approve,
    Pending,
    Reject,
    Remember,
    shown_json,
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


def question(pending: Pending) -> str:
    """What the call asks, in full, in rows that fit the terminal."""
    return "\n".join(whole_rows(pending, screen()))


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


def how_to_answer(pending: Pending, command: str, go_on: str = "") -> str:
    """The command that answers the call, and the other answers it takes; `go_on` is the one that goes
    on with its session when nobody can answer any more."""
    if is_expired(pending):
        ahead = f"; go on: {go_on}" if go_on else "."
        return f"Its deadline has passed: the agent is told that nobody answered{ahead}"
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


def parse_answer(pending: Pending, text: str) -> Any:
    """The answer as a runner takes it; `UsageError` says which words there are."""
    if pending.kind == "confirmation":
        return _confirmation(pending, text)
    options = options_of(pending)
    if text in (numbers := numbers_of(options)):
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
