"""Notice what other processes change, so that every open page shows it within a moment."""

from collections.abc import Awaitable, Callable, Hashable

import anyio

from toolwright.serve.live._notices import Notices

__all__ = ["watch"]

_EVERY_SECONDS = 1.0


async def watch(notices: Notices, look: Callable[[], Awaitable[Hashable]]) -> None:
    """Tell pages to read their lists anew whenever `look` sees something else than before.

    Nothing is looked at while nobody listens.
    """
    seen: Hashable = None
    while True:
        await anyio.sleep(_EVERY_SECONDS)
        if not notices.listeners:
            seen = None
            continue
        now = await look()
        if now != seen:
            notices.reload()
        seen = now
