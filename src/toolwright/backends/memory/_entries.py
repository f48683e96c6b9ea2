"""What is worth remembering of a conversation, and which words of a question to look for."""

import hashlib
import re
from collections.abc import Iterable, Iterator

from toolwright.messages import (
    Event,
    MemoryEntry,
    ModelReplied,
    RunStarted,
    Steered,
    is_untrusted,
)

__all__ = ["Remembered", "from_entry", "from_events", "query_words"]

Remembered = tuple[str, MemoryEntry]
"""An entry and where it comes from: of one source, one entry is kept."""

_MOST_WORDS = 64
_COMMON = (
    "a about am an and any are as at be been but by can could did do does for from had has have "
    "he her his how i if in is it its me my of on or our she so some that the their them then "
    "there they this to us was we were what when where which who whose why will with would you your"
)
_STOP_WORDS = frozenset(_COMMON.split())


def from_entry(entry: MemoryEntry) -> Remembered:
    """An entry that was added as such; the same text by the same author is kept once."""
    digest = hashlib.sha256(f"{entry.author}\0{entry.content}".encode()).hexdigest()
    return f"entry:{digest}", entry


def from_events(session_id: str, events: Iterable[Event]) -> Iterator[Remembered]:
    """What the person and the agent said; not what agents inside calls said, nor tools."""
    is_tainted = False
    for event in events:
        author, text = _said(event)
        is_tainted = is_tainted or is_untrusted(event)
        if text.strip() and not event.path:
            entry = MemoryEntry(
                content=text, author=author, created_at=event.at, session_id=session_id
            )
            if is_tainted and author != "user":
                entry = entry.as_untrusted()
            yield f"event:{session_id}:{event.seq}", entry


def query_words(query: str) -> list[str]:
    """The words to look for, without those that are in every sentence unless there are no others."""
    words = list(dict.fromkeys(re.findall(r"\w+", query.lower())))[:_MOST_WORDS]
    return [word for word in words if word not in _STOP_WORDS] or words


def _said(event: Event) -> tuple[str, str]:
    match event:
        case RunStarted(message=message) | Steered(message=message) if message:
            return "user", message.text
        case ModelReplied(message=message):
            return event.agent or "model", message.text
        case _:
            return "", ""
