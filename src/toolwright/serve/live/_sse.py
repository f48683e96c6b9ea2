"""Server-sent events over HTTP."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

import anyio
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from toolwright.serve._problems import ProblemError, problem_response
from toolwright.serve.guard._rate import client_of

__all__ = ["EventStream", "Streams"]

_BEAT = b": still here\n\n"
_BEAT_SECONDS = 15.0
_HEADERS = {
    "Content-Type": "text/event-stream; charset=utf-8",
    "Cache-Control": "no-store",
    "X-Accel-Buffering": "no",
}


class EventStream(Response):
    """Sends frames until they end or the client has gone; then `frames` is closed.

    A comment now and then keeps proxies from closing a quiet connection.
    """

    def __init__(
        self,
        frames: AsyncGenerator[bytes, None],
        opened: dict[anyio.CancelScope, str],
        share: int,
    ) -> None:
        super().__init__(headers=_HEADERS)
        del self.headers["content-length"]
        self._frames = frames
        self._opened = opened
        self._share = share
        self._turn = anyio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Stream; returns when either side is done."""
        start = {"type": "http.response.start", "status": 200, "headers": self.raw_headers}
        client = client_of(scope)
        if list(self._opened.values()).count(client) >= self._share:
            await self._frames.aclose()
            detail = f"{self._share} event streams of this address are open; close some first."
            await problem_response(503, detail)(scope, receive, send)
            return
        async with aclosing(self._frames), anyio.create_task_group() as group:
            self._opened[group.cancel_scope] = client
            try:
                await send(start)
                await self._send(send, b"retry: 1000\n\n")
                group.start_soon(_until_gone, receive, group.cancel_scope)
                group.start_soon(self._beat, send)
                async for frame in self._frames:
                    await self._send(send, frame)
            finally:
                self._opened.pop(group.cancel_scope, None)
                group.cancel_scope.cancel()
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _beat(self, send: Send) -> None:
        while True:
            await anyio.sleep(_BEAT_SECONDS)
            await self._send(send, _BEAT)

    async def _send(self, send: Send, frame: bytes) -> None:
        async with self._turn:
            await send({"type": "http.response.body", "body": frame, "more_body": True})


async def _until_gone(receive: Receive, scope: anyio.CancelScope) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()


class Streams:
    """Makes event streams, up to a number that are open at once, and ends them all.

    A quarter of them is for others than the one who has the most.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._opened: dict[anyio.CancelScope, str] = {}
        """Those that are open, and whose they are."""

    def response(self, frames: AsyncGenerator[bytes, None]) -> EventStream:
        """A response that streams `frames`; `ProblemError` when too many are open."""
        if len(self._opened) >= self._limit:
            raise ProblemError(503, f"{self._limit} event streams are open; close some first.")
        return EventStream(frames, self._opened, self._limit - self._limit // 4)

    def close(self) -> None:
        """End all streams and refuse new ones: the server is about to stop."""
        self._limit = 0
        for scope in list(self._opened):
            scope.cancel()
