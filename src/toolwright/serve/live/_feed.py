"""Follow one session's events: first what is stored, then live, without a gap or a repeat."""

import secrets
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from toolwright.messages import Event, encode_event, is_stored
from toolwright.serve._public import public_event
from toolwright.serve.live._draft import Draft
from toolwright.serve.live._inbox import Inbox

__all__ = ["BOOT", "Feed", "Shown", "Stored"]

BOOT = secrets.token_hex(4)
"""This process. An event is shown a moment before it is stored: after a crash, another event may
have its number, and whoever comes back must not take the one for the other."""
Stored = Callable[[int], Awaitable[Sequence[Event]]]
"""The stored events after a `seq`."""
_ROOM = 2000
"""Events that one listener may lag behind before it is sent back to the store."""


@dataclass(frozen=True)
class Shown:
    """An event on its way to listeners; encoded once, however many there are."""

    event: Event
    at: int
    """The number of the last stored event up to here; its own, if it is stored itself."""
    whole: bool = False
    """A text so far: it replaces, rather than continues, what the listener has of it."""

    def is_new(self, seen: int) -> bool:
        """Whether it comes next for a listener who has seen the events up to `seen`."""
        return self.at > seen if is_stored(self.event) else self.at == seen

    @cached_property
    def frame(self) -> bytes:
        """The event as a server-sent event; only stored ones have an id to come back with."""
        label = "event: draft\n" if self.whole else ""
        if is_stored(self.event):
            label = f"id: {BOOT}:{self.event.seq}\n"
        return f"{label}data: {encode_event(public_event(self.event))}\n\n".encode()


class Feed:
    """The listeners of one session, and what of its run the store does not have yet."""

    def __init__(self) -> None:
        self._inboxes: set[Inbox[Shown]] = set()
        self._draft = Draft()
        self._fresh: list[Event] = []
        self._at = 0

    @property
    def listeners(self) -> int:
        """How many follow it now."""
        return len(self._inboxes)

    def publish(self, event: Event) -> None:
        """Show an event to all who follow; never waits for any of them."""
        if is_stored(event):
            self._fresh.append(event)
            self._at = event.seq
        self._draft.add(event)
        shown = Shown(event, self._at)
        for inbox in self._inboxes:
            inbox.put(shown)

    def settle(self) -> None:
        """The run is over: all that was published is stored."""
        self._fresh.clear()

    async def follow(self, stored: Stored, since: int = 0) -> AsyncGenerator[list[Shown], None]:
        """All events after `since`, in order, in batches as they come, until the caller has enough.

        A follower that falls behind misses deltas, never a stored event.
        """
        # Listening begins before the store is read, so nothing falls in between.
        inbox: Inbox[Shown] = Inbox(_ROOM)
        self._inboxes.add(inbox)
        seen, behind = since, True
        try:
            while True:
                batch = await self._missed(inbox, stored, seen) if behind else inbox.drain()
                new = []
                for shown in batch:
                    if shown.is_new(seen):
                        seen = shown.at
                        new.append(shown)
                if new:
                    yield new
                behind = not await inbox.news()
        finally:
            self._inboxes.discard(inbox)

    async def _missed(self, inbox: Inbox[Shown], stored: Stored, seen: int) -> list[Shown]:
        """What is stored, what will be, and the unfinished turn; the inbox is left empty."""
        missed = list(await stored(seen))
        upto = missed[-1].seq if missed else seen
        # No await from here on, so that the three are of the same moment.
        inbox.drain()
        missed += [event for event in self._fresh if event.seq > upto]
        # The store may be ahead of what was published: its end then comes after the draft, and
        # the draft is of a turn that is over.
        draft = [Shown(event, self._at, whole=True) for event in self._draft.events()]
        return [Shown(event, event.seq) for event in missed] + draft
