"""News from all sessions and tasks at once: what starts, ends, waits and is answered."""

import json
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Literal

from toolwright.messages import (
    Event,
    PendingAnswered,
    PendingOpened,
    RunEnded,
    RunStarted,
    ToolEnded,
    encode_event,
)
from toolwright.serve._public import public_event
from toolwright.serve.live._inbox import Inbox

__all__ = ["Notice", "Notices"]

_ROOM = 1000
_NOTABLE = (RunStarted, RunEnded, PendingOpened, PendingAnswered, ToolEnded)


@dataclass(frozen=True, slots=True)
class Notice:
    """Something notable in one session or task."""

    kind: Literal["session", "task"]
    id: str
    event: Event

    @property
    def frame(self) -> bytes:
        """The notice as a server-sent event."""
        head = json.dumps({"kind": self.kind, "id": self.id})
        event = encode_event(public_event(self.event))
        return f'data: {head[:-1]}, "event": {event}}}\n\n'.encode()


class Notices:
    """Hands notable events to all who listen; there is no replay, fetching the list again is better."""

    def __init__(self) -> None:
        self._inboxes: set[Inbox[Notice | None]] = set()

    @property
    def listeners(self) -> int:
        """How many listen now."""
        return len(self._inboxes)

    def publish(self, notice: Notice) -> None:
        """Show a notice, if it is one."""
        if isinstance(notice.event, _NOTABLE):
            for inbox in self._inboxes:
                inbox.put(notice)

    def reload(self) -> None:
        """Say that something has changed, without saying what."""
        for inbox in self._inboxes:
            inbox.put(None)

    async def follow(self) -> AsyncGenerator[list[Notice | None], None]:
        """Notices as they come; None when lists should be fetched again, as at the beginning."""
        inbox: Inbox[Notice | None] = Inbox(_ROOM)
        self._inboxes.add(inbox)
        try:
            yield [None]
            while True:
                if not await inbox.news():
                    yield [None]
                yield inbox.drain()
        finally:
            self._inboxes.discard(inbox)
