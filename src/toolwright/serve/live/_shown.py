"""Events on their way to those who follow, and the ids by which followers say where they were."""

import zlib
from dataclasses import dataclass
from functools import cached_property

from toolwright.messages import Event, decode_event, encode_event, is_stored
from toolwright.serve._public import public_event, public_text

__all__ = ["Replayed", "Shown"]


@dataclass(frozen=True)
class Shown:
    """An event as it happens; encoded once, however many follow."""

    event: Event
    at: int
    """The number of the last stored event up to here; its own, if it is stored itself."""
    whole: bool = False
    """A text so far: it replaces, rather than continues, what the listener has of it."""

    def is_new(self, seen: int) -> bool:
        """Whether it comes next for a listener who has seen the events up to `seen`."""
        return self.at > seen if is_stored(self.event) else self.at == seen

    def leaps(self, seen: int) -> bool:
        """Whether there are stored events between `seen` and this one."""
        return is_stored(self.event) and self.at > seen + 1

    @cached_property
    def frame(self) -> bytes:
        """The event as a server-sent event; only stored ones have an id to come back with."""
        data = encode_event(public_event(self.event)).encode()
        if is_stored(self.event):
            return _frame(self.event.seq, data)
        return b"%sdata: %s\n\n" % (b"event: draft\n" if self.whole else b"", data)

    @cached_property
    def digest(self) -> str:
        """Tells it from another event of its number."""
        return _digest(encode_event(public_event(self.event)).encode())


@dataclass(frozen=True)
class Replayed:
    """A stored event as the store has it: passed on, and only read by those who must."""

    text: str
    at: int

    @property
    def event(self) -> Event:
        """What it says."""
        return decode_event(self.text)

    @property
    def frame(self) -> bytes:
        """The event as a server-sent event."""
        return _frame(self.at, public_text(self.text).encode())

    @property
    def digest(self) -> str:
        """Tells it from another event of its number."""
        return _digest(public_text(self.text).encode())


def _frame(seq: int, data: bytes) -> bytes:
    # An event is shown a moment before it is stored. After a crash another may have its number:
    # with the digest, whoever comes back does not take the one for the other.
    return b"id: %d-%s\ndata: %s\n\n" % (seq, _digest(data).encode(), data)


def _digest(data: bytes) -> str:
    return f"{zlib.crc32(data):08x}"
