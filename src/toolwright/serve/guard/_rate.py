"""A bucket of requests per client address, refilled steadily."""

import math
import time
from collections import OrderedDict
from collections.abc import Callable

from starlette.types import ASGIApp, Receive, Scope, Send

from toolwright.serve._problems import problem_response

__all__ = ["RateLimit"]

_MAX_CLIENTS = 10_000


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
        self._per_second = per_second
        self._burst = burst
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse the request, or pass it on."""
        wait = self._wait(scope) if scope["type"] == "http" else 0.0
        if wait:
            detail = f"Too many requests from this address; try again in {wait:.1f} s."
            headers = {"Retry-After": str(math.ceil(wait))}
            await problem_response(429, detail, headers=headers)(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    def _wait(self, scope: Scope) -> float:
        """Seconds until this client may ask again; 0 when it may now."""
        client = scope["client"][0] if scope.get("client") else ""
        now = self._clock()
        left, then = self._buckets.pop(client, (float(self._burst), now))
        left = min(float(self._burst), left + (now - then) * self._per_second)
        allowed = left >= 1
        self._buckets[client] = (left - 1 if allowed else left, now)
        if len(self._buckets) > _MAX_CLIENTS:
            self._buckets.popitem(last=False)
        return 0.0 if allowed else (1 - left) / self._per_second
