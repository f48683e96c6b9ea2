"""A bucket of requests per client address, refilled steadily."""

import math
import time
from collections import OrderedDict
from collections.abc import Callable

from starlette.types import ASGIApp, Receive, Scope, Send

from toolwright.serve._problems import problem_response

__all__ = ["Buckets", "RateLimit", "client_of"]

_MAX_CLIENTS = 10_000


class Buckets:
    """Each client may do something `burst` times at once and `per_second` times sustained."""

    def __init__(
        self, per_second: float, burst: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._per_second = per_second
        self._burst = float(burst)
        self._clock = clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, client: str) -> float:
        """Seconds until this client may do it again; 0 when it may now."""
        left = self._now(client)
        return 0.0 if left >= 1 else (1 - left) / self._per_second

    def take(self, client: str) -> float:
        """The same, and if it may, it has."""
        left, wait = self._now(client), self.wait(client)
        self._left[client] = (left if wait else left - 1, self._clock())
        self._left.move_to_end(client)
        if len(self._left) > _MAX_CLIENTS:
            self._left.popitem(last=False)
        return wait

    def _now(self, client: str) -> float:
        now = self._clock()
        left, then = self._left.get(client, (self._burst, now))
        return min(self._burst, left + (now - then) * self._per_second)


class RateLimit:
    """Lets each client address make `burst` requests at once and `per_second` sustained."""

    def __init__(
        self,
        app: ASGIApp,
        per_second: float,
        burst: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.app = app
        self._buckets = Buckets(per_second, burst, clock)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse the request, or pass it on."""
        wait = self._buckets.take(client_of(scope)) if scope["type"] == "http" else 0.0
        if wait:
            detail = f"Too many requests from this address; try again in {wait:.1f} s."
            headers = {"Retry-After": str(math.ceil(wait))}
            await problem_response(429, detail, headers=headers)(scope, receive, send)
        else:
            await self.app(scope, receive, send)


def client_of(scope: Scope) -> str:
    """The client's address."""
    return scope["client"][0] if scope.get("client") else ""
