"""Follow one session's events: first what is stored, then live, without a gap or a repeat."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence

from toolwright.messages import Event, is_stored
from toolwright.serve.live._draft import Draft
from toolwright.serve.live._inbox import Inbox
from toolwright.serve.live._shown import Replayed, Shown

__all__ = ["Feed", "Stored"]

Stored = Callable[[int], Awaitable[Sequence[Replayed]]]
"""The next page of stored events after a `seq`; empty only when there are no more."""
_ROOM = 2000
"""Events that one listener may lag behind before it is sent back to the store."""
_UNKNOWN = -1.0


class Feed:
    """The listeners of one session, and what of its run the store does not have yet."""

    def __init__(self) -> None:
        self._inboxes: set[Inbox[Shown]] = set()
        self._draft = Draft()
        self._fresh: list[Event] = []
        self._at = 0
        self._stored = -1
        """The number of the last stored event, when somebody last looked."""
        self._born: float | None = _UNKNOWN
        """When the session was made whose events these are; None when it is gone."""
        self._resets = self._settled = 0
        """How often followers were to begin anew, and how often a run was over."""

    @property
    def listeners(self) -> int:
        """How many follow it now."""
        return len(self._inboxes)

    def publish(self, event: Event) -> None:
        """Show an event to all who follow; never waits for any of them."""
        if is_stored(event):
            if event.seq <= self._at:
                self.reset()  # What had this number before was never stored.
            self._fresh.append(event)
            self._at = event.seq
        self._draft.add(event)
        shown = Shown(event, self._at)
        for inbox in self._inboxes:
            inbox.put(shown)

    def settle(self) -> None:
        """The run is over: all that was published is stored."""
        self._fresh.clear()
        self._settled += 1

    def reset(self) -> None:
        """What followers have is not the session's any more, or never was: they begin anew."""
        self._fresh.clear()
        self._draft = Draft()
        self._at, self._stored = 0, -1
        self._resets += 1
        for inbox in self._inboxes:
            inbox.drop()

    def note_born(self, created_at: float | None) -> None:
        """The session was made at this moment, or is gone: followers of another of its name begin anew."""
        known, self._born = self._born, created_at
        if known not in (created_at, _UNKNOWN):
            self.reset()

    @property
    def published(self) -> int:
        """The number of the last event that was published here."""
        return self._at

    def note_stored(self, last_seq: int) -> None:
        """The store has events up to here, and no run is going here: those of another process are read
        from there."""
        if last_seq < max(self._at, self._stored):
            self.reset()
        if last_seq != self._stored:
            self._stored = last_seq
            for inbox in self._inboxes:
                inbox.drop()

    def fresh(self, seq: int) -> Shown | None:
        """An event of the run that is going, by its number."""
        # Their numbers follow on each other.
        at = seq - self._fresh[0].seq if self._fresh else -1
        return Shown(self._fresh[at], seq) if 0 <= at < len(self._fresh) else None

    async def follow(
        self, stored: Stored, since: int = 0
    ) -> AsyncGenerator[Sequence[Shown | Replayed] | None, None]:
        """All events after `since`, in order, in batches as they come, until the caller has enough.

        A follower that falls behind misses deltas, never a stored event. The next page is read when
        the one before it has been taken: whoever does not read costs one page. None instead of a
        batch: forget all that came before, it begins anew with the first event.
        """
        # Listening begins before the store is read, so nothing falls in between.
        inbox: Inbox[Shown] = Inbox(_ROOM)
        self._inboxes.add(inbox)
        seen, behind, resets, looked_at = since, True, self._resets, -1
        try:
            while True:
                if resets != self._resets:
                    seen, behind, resets = 0, True, self._resets
                    yield None
                while behind:
                    settled = self._settled
                    page = await stored(seen)
                    if resets != self._resets or not (page or settled != self._settled):
                        break
                    if page:
                        seen = page[-1].at
                        yield page
                if resets != self._resets:
                    continue
                # No await from the last look at the store to here, so that both are of one moment.
                new, leaps = [], False
                for shown in self._missed(inbox, seen) if behind else inbox.drain():
                    if not shown.is_new(seen):
                        continue
                    if shown.leaps(seen) and looked_at != seen:
                        # Another process has written what is between, since the last look.
                        leaps, looked_at = True, seen
                        break
                    seen = shown.at
                    new.append(shown)
                if new:
                    yield new
                behind = leaps or not await inbox.news()
        finally:
            self._inboxes.discard(inbox)

    def _missed(self, inbox: Inbox[Shown], seen: int) -> list[Shown]:
        """What will be stored, and the unfinished turn; the inbox is left empty."""
        inbox.drain()
        missed = [Shown(event, event.seq) for event in self._fresh if event.seq > seen]
        # The store may be ahead of what was published: its end then comes after the draft, and
        # the draft is of a turn that is over.
        return missed + [Shown(event, self._at, whole=True) for event in self._draft.events()]
