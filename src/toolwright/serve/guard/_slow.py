"""What one address can hold of an application whose server is not ours: requests, and for how long."""

from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from toolwright.serve._patience import PROGRESS, Patience
from toolwright.serve._problems import problem_response
from toolwright.serve.guard._rate import client_of

__all__ = ["SlowClients"]


class SlowClients:
    """Keeps to a `Patience` as far as an application can: it sees requests, and no connections."""

    def __init__(self, app: ASGIApp, patience: Patience) -> None:
        self.app = app
        self._patience = patience
        self._held: Counter[str] = Counter()
        """Requests that are being answered, by address."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse the request, or pass it on and give it up when its client is too slow."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        client = client_of(scope)
        if self._held[client] >= self._patience.connections:
            detail = (
                f"{self._patience.connections} requests of this address are open; end some first."
            )
            await problem_response(503, detail)(scope, receive, send)
            return
        self._held[client] += 1
        try:
            await self._answer(scope, receive, send)
        finally:
            self._held[client] -= 1
            if not self._held[client]:
                del self._held[client]

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = _Request(receive, send, self._patience)
        try:
            await self.app(scope, request.receive, request.send)
        except Exception:
            if not request.given_up:
                raise
            if not request.answered:
                detail = "The request's body did not come in time."
                headers = {"Connection": "close"}
                await problem_response(408, detail, headers=headers)(scope, receive, send)


class _TooSlow(ConnectionError):
    """As if the client had gone."""


class _Request:
    """One request, whose client is waited for with patience and no longer."""

    def __init__(self, receive: Receive, send: Send, patience: Patience) -> None:
        self._receive = receive
        self._send = send
        self._patience = patience
        self._left = patience.body
        """Seconds that may be waited for the next bytes of its body."""
        self._since = 0
        self._has_come = False
        self.given_up = False
        self.answered = False

    async def receive(self) -> Message:
        if self._has_come:
            return await self._receive()  # What comes now is the client's farewell.
        began = anyio.current_time()
        message = await self._in_time(self._receive, self._left)
        # Only what was waited for counts, not what the application did in between.
        self._left -= anyio.current_time() - began
        self._has_come = not message.get("more_body", False)
        self._since += len(message.get("body", b""))
        if self._since >= PROGRESS:
            self._since, self._left = 0, self._patience.body
        return message

    async def send(self, message: Message) -> None:
        self.answered = True
        await self._in_time(lambda: self._send(message), self._patience.reading)

    async def _in_time(self, wait: Callable[[], Awaitable[Any]], seconds: float) -> Any:
        if not self.given_up:
            with anyio.move_on_after(seconds):
                return await wait()
        self.given_up = True
        raise _TooSlow
