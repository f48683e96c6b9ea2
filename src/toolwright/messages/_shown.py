"""A call's arguments as a person is shown them before a decision, and what in them pretends."""

import json
import re
from collections.abc import Iterator
from typing import Any

from toolwright.messages._visible import ODD_SPACES, count_marks, lookalikes, visible

__all__ = ["pretences", "shown_json", "shown_text"]

_MARKED = r"{count} characters that would not be seen are written as \u…."
_LOOKALIKE = "letters that look like others: {word}."
_MORE = "letters that look like others in more words: {count}."
_LEFTWARD = (
    "some words are written from right to left; they may be shown in another order than "
    "they stand in."
)
_LOOKALIKES_SHOWN = 5
_FROM_RIGHT = re.compile(
    "[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]"
)


def shown_json(value: Any, indent: int | None = None) -> str:
    """JSON that a person can read and a shell can be given: the same value, nothing in it unseen."""
    return shown_text(json.dumps(value, ensure_ascii=False, indent=indent))


def shown_text(text: str, *, lines: bool = True) -> str:
    """A text that a person decides on: nothing in it unseen, no space that is not what it looks like."""
    shown = visible(text, lines=lines)
    return ODD_SPACES.sub(lambda found: json.dumps(found[0])[1:-1], shown)


def pretences(*values: Any) -> list[str]:
    """A sentence for everything in these JSON values that is not what it looks like."""
    texts = [text for value in values for text in _texts(value)]
    lines = []
    if marks := sum(count_marks(text) + len(ODD_SPACES.findall(text)) for text in texts):
        lines.append(_MARKED.format(count=marks))
    words = list(dict.fromkeys(word for text in texts for word in lookalikes(text)))
    lines += [
        visible(_LOOKALIKE.format(word=word), lines=False) for word in words[:_LOOKALIKES_SHOWN]
    ]
    if more := words[_LOOKALIKES_SHOWN:]:
        lines.append(_MORE.format(count=len(more)))
    if any(map(_FROM_RIGHT.search, texts)):
        lines.append(_LEFTWARD)
    return lines


def _texts(value: Any) -> Iterator[str]:
    """The texts of a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from (text for pair in value.items() for part in pair for text in _texts(part))
    elif isinstance(value, list | tuple):
        yield from (text for part in value for text in _texts(part))
