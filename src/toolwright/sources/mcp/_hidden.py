"""What one connection signs its requests with is hidden in every run that uses the connection.

A connection outlives the run that opened it, and its tokens are renewed while calls are in flight.
"""

from collections.abc import AsyncGenerator, Iterable
from weakref import WeakSet

import httpx2

from toolwright.messages import Redactor
from toolwright.sources._secret_names import secrets_among
from toolwright.tools import ReadonlyContext

__all__ = ["HidingAuth", "SentSecrets"]

_MOST = 100
"""Secrets remembered for runs to come; of tokens that were renewed again and again, the last ones."""


class SentSecrets:
    """The secrets that went to one server, and the runs that must not show them."""

    def __init__(self) -> None:
        self._secrets: dict[str, None] = {}
        self._redactors: WeakSet[Redactor] = WeakSet()

    def hide_in(self, context: ReadonlyContext) -> None:
        """Keep what was sent, and what is yet to be sent, out of all that leaves the context's run."""
        self._redactors.add(context.run.redactor)
        for secret in list(self._secrets):
            context.run.redactor.add(secret)

    def add(self, secrets: Iterable[str]) -> None:
        """Note what is about to be sent, and hide it in every run that uses the connection now."""
        for secret in secrets:
            self._secrets.pop(secret, None)
            self._secrets[secret] = None
            for redactor in list(self._redactors):
                redactor.add(secret)
        for oldest in list(self._secrets)[:-_MOST]:
            del self._secrets[oldest]


class HidingAuth(httpx2.Auth):
    """Signs requests as another does; the secrets among the headers that it sets are noted first."""

    def __init__(self, inner: httpx2.Auth, sent: SentSecrets) -> None:
        self._inner = inner
        self._sent = sent

    async def async_auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Send what the other flow sends."""
        plain = set(request.headers.items())
        flow = self._inner.async_auth_flow(request)
        try:
            signed = await anext(flow)
            while True:
                self._sent.add(secrets_among(dict(set(signed.headers.items()) - plain)))
                signed = await flow.asend((yield signed))
        except StopAsyncIteration:
            return
        finally:
            await flow.aclose()
