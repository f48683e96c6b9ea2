"""The part of a turn that is not stored yet, for those who begin to watch in the middle of it."""

from dataclasses import dataclass, field, replace
from typing import Any

from toolwright.messages import (
    CallDelta,
    Event,
    ModelReplied,
    ReasoningDelta,
    RunEnded,
    TextDelta,
    ToolEnded,
    ToolProgress,
)

__all__ = ["Draft"]


@dataclass(slots=True)
class _Written:
    """One text, growing piece by piece."""

    first: Event
    pieces: list[str] = field(default_factory=list)


class Draft:
    """Merges the deltas since the last reply of each agent into one event per text."""

    def __init__(self) -> None:
        self._texts: dict[tuple[Any, ...], _Written] = {}
        self._progress: dict[tuple[str, str], ToolProgress] = {}

    def add(self, event: Event) -> None:
        """Take note of an event, stored or not."""
        match event:
            case TextDelta() | ReasoningDelta():
                self._grow((event.path, event.type), event, event.text)
            case CallDelta():
                self._grow((event.path, event.type, event.index), event, event.arguments)
            case ToolProgress():
                self._progress[event.path, event.call_id] = event
            case ModelReplied():
                self._forget_texts(event.path)
            case ToolEnded():
                self._progress.pop((event.path, event.result.call_id), None)
            case RunEnded(path=""):
                self._texts.clear()
                self._progress.clear()

    def events(self) -> list[Event]:
        """What a newcomer must be shown to see the same as the others."""
        return [_whole(written) for written in self._texts.values()] + list(self._progress.values())

    def _grow(self, key: tuple[Any, ...], event: Event, piece: str) -> None:
        self._texts.setdefault(key, _Written(event)).pieces.append(piece)

    def _forget_texts(self, path: str) -> None:
        for key in [key for key in self._texts if key[0] == path]:
            del self._texts[key]


def _whole(written: _Written) -> Event:
    text = "".join(written.pieces)
    if isinstance(written.first, CallDelta):
        return replace(written.first, arguments=text)
    return replace(written.first, text=text)  # type: ignore[call-arg]
