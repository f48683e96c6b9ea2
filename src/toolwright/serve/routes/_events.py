"""Event streams: where a listener was, and what it is sent."""

import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing

from starlette.requests import Request

from toolwright.serve._endpoint import Fields
from toolwright.serve._problems import ProblemError
from toolwright.serve.live import Notices, Replayed, Shown

__all__ = ["Since", "event_frames", "notice_frames", "position"]

RESET = b"event: reset\ndata: {}\n\n"
RELOAD = b"event: reload\ndata: {}\n\n"


Find = Callable[[int], Awaitable[Shown | Replayed | None]]
"""An event by its number."""
# At most 15 digits, so that every number fits every database.
_ID = re.compile(r"([0-9]{1,15})(?:-([0-9a-f]{8}))?")
_OLD_ID = re.compile(r"[0-9a-f]{8}:[0-9]{1,15}")
"""As earlier versions gave them."""


class Since(Fields):
    """Where to begin."""

    since: str = "0"
    """The `seq` or event id after which to begin; the header `Last-Event-ID` goes before it."""


async def position(request: Request, query: Since, find: Find) -> tuple[int, bool]:
    """The `seq` after which to begin, and whether the listener must forget what it has.

    An id tells which event it was of: one that was shown and never stored, because the server died,
    may have given its number to another, and its listeners begin anew.
    """
    given = request.headers.get("last-event-id") or query.since
    if _OLD_ID.fullmatch(given):
        return 0, True
    parts = _ID.fullmatch(given)
    if parts is None:
        raise ProblemError(
            422, f"{given[:100]!r} is no event id; send the 'id' of the last event seen."
        )
    number, digest = int(parts[1]), parts[2]
    if digest is None:
        return number, False
    event = await find(number)
    is_known = event is not None and event.digest == digest
    return (number, False) if is_known else (0, True)


async def event_frames(
    batches: AsyncGenerator[Sequence[Shown | Replayed] | None, None], *, reset: bool
) -> AsyncGenerator[bytes, None]:
    """Frames for a listener; with `reset`, and for None, it is told to forget what it has."""
    if reset:
        yield RESET
    async with aclosing(batches):
        async for batch in batches:
            yield RESET if batch is None else b"".join(shown.frame for shown in batch)


async def notice_frames(notices: Notices) -> AsyncGenerator[bytes, None]:
    """Frames for a page that watches everything."""
    async with aclosing(notices.follow()) as batches:
        async for batch in batches:
            yield b"".join(RELOAD if notice is None else notice.frame for notice in batch)
