"""Event streams: where a listener was, and what it is sent."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

from starlette.requests import Request

from toolwright.serve._endpoint import Fields
from toolwright.serve._problems import ProblemError
from toolwright.serve.live import BOOT, Notices, Shown

__all__ = ["Since", "event_frames", "notice_frames", "position"]

RESET = b"event: reset\ndata: {}\n\n"
RELOAD = b"event: reload\ndata: {}\n\n"


class Since(Fields):
    """Where to begin."""

    since: str = "0"
    """The `seq` or event id after which to begin; the header `Last-Event-ID` goes before it."""


def position(request: Request, query: Since) -> tuple[int, bool]:
    """The `seq` after which to begin, and whether the listener must forget what it has.

    An id names the process that gave it: numbers that another process gave may have been given
    again, so its listeners begin anew.
    """
    given = request.headers.get("last-event-id") or query.since
    boot, _, number = given.rpartition(":")
    # At most 15 digits, so that every number fits every database.
    if not (number.isascii() and number.isdigit()) or len(number) > 15:
        raise ProblemError(422, f"{given!r} is no event id; send the 'id' of the last event seen.")
    if boot and boot != BOOT:
        return 0, True
    return int(number), False


async def event_frames(
    batches: AsyncGenerator[list[Shown], None], *, reset: bool
) -> AsyncGenerator[bytes, None]:
    """Frames for a listener; with `reset` it is first told to forget what it has."""
    if reset:
        yield RESET
    async with aclosing(batches):
        async for batch in batches:
            yield b"".join(shown.frame for shown in batch)


async def notice_frames(notices: Notices) -> AsyncGenerator[bytes, None]:
    """Frames for a page that watches everything."""
    async with aclosing(notices.follow()) as batches:
        async for batch in batches:
            yield b"".join(RELOAD if notice is None else notice.frame for notice in batch)
