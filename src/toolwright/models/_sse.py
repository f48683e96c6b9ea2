"""Take server-sent events apart, as their specification says, whatever the pieces they come in."""

from collections.abc import Iterator
from typing import NamedTuple

__all__ = ["Event", "EventDecoder"]

_BOM = b"\xef\xbb\xbf"


class Event(NamedTuple):
    """One event that has data and is no ping; others say nothing to a model's client."""

    name: str
    data: bytes


class EventDecoder:
    """The events of one stream. Takes time that grows with the bytes, and not with the pieces."""

    def __init__(self) -> None:
        self._line: list[bytes] = []
        """The pieces of a line that has no end yet."""
        self._after_return = False
        """Whether the last byte was a carriage return: a line feed right after it ends no line."""
        self._name = ""
        self._data: list[bytes] = []
        self._begun = False

    def feed(self, piece: bytes) -> Iterator[Event]:
        """The events that end in `piece`."""
        if self._after_return and piece:
            piece = piece.removeprefix(b"\n")
            self._after_return = False
        if b"\n" not in piece and b"\r" not in piece:
            self._line.append(piece)
            return
        self._after_return = piece.endswith(b"\r")
        self._line.append(piece)
        lines = b"".join(self._line).splitlines(keepends=True)
        self._line = [] if lines[-1].endswith((b"\n", b"\r")) else [lines.pop()]
        for line in lines:
            if line[:1] != b":" and (event := self._hear(line.rstrip(b"\r\n"))):
                yield event

    def end(self) -> Iterator[Event]:
        """The event whose end is missing where the stream has ended."""
        for line in (b"".join(self._line), b""):
            if event := self._hear(line):
                yield event

    def _hear(self, line: bytes) -> Event | None:
        if not self._begun:
            line, self._begun = line.removeprefix(_BOM), True
        if not line:
            return self._dispatched() if self._data or self._name else None
        field, _, value = line.partition(b":")
        if field == b"data":
            self._data.append(value.removeprefix(b" "))
        elif field == b"event":
            self._name = value.removeprefix(b" ").decode(errors="replace")
        return None

    def _dispatched(self) -> Event | None:
        event = Event(self._name, b"\n".join(self._data))
        self._name, self._data = "", []
        return event if event.data.strip() and event.name != "ping" else None
