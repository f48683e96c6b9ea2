"""Read an OpenAPI document, and the files that it refers to, from the web site where it is."""

import ssl

import httpx2
from anyio.from_thread import start_blocking_portal

from toolwright.backends import Reachable
from toolwright.errors import ToolError, UsageError
from toolwright.sources.openapi._client import Api, CallLimits

__all__ = ["Site"]

_HEADERS = {"User-Agent": "toolwright", "Accept": "*/*", "Accept-Encoding": "gzip, deflate"}


class Site:
    """The site of one document: its own address may redirect, to where `reachable` allows."""

    def __init__(
        self, url: str, *, verify: bool | ssl.SSLContext, reachable: Reachable, most: int
    ) -> None:
        self._url = url
        self._most = most
        self._verify = verify
        self._reachable = reachable

    async def fetch(self, address: str) -> bytes:
        """What is at an address; `UsageError` when it cannot be had."""
        redirects = "any" if address == self._url else "none"
        limits = CallLimits(max_response_bytes=self._most, redirects=redirects)
        api = Api(reachable=self._reachable, verify=self._verify, limits=limits)
        try:
            answer = await api.send(httpx2.Request("GET", address, headers=_HEADERS), ())
            return answer.raise_for_status().content
        except (ToolError, httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise UsageError(f"Cannot fetch the OpenAPI document {address!r}: {error}") from error
        finally:
            await api.close()

    def read(self, address: str) -> bytes:
        """The same for code that cannot wait, whether or not an event loop runs in its thread."""
        with start_blocking_portal() as portal:
            return portal.call(self.fetch, address)
