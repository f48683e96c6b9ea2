"""Read an OpenAPI document, and the files that it refers to, from the web site where it is."""

import ssl
from urllib.parse import urlsplit

import anyio
import httpx2
from anyio.from_thread import start_blocking_portal

from toolwright.backends import Reachable
from toolwright.concurrency import in_io_thread
from toolwright.errors import ToolError, UsageError
from toolwright.sources._secret_names import shown_address
from toolwright.sources.openapi._client import Api, CallLimits
from toolwright.sources.openapi._document import Document, document_of_site

__all__ = ["Site"]

_MOST_FILES = 500
_LONGEST = 60.0
"""Seconds for the document itself, however it comes."""
_SECONDS = 30.0
"""How long the files that a document refers to may take, all together."""
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

    async def fetch(self, address: str, most: int) -> bytes:
        """What is at an address, of at most so many bytes; `UsageError` when it cannot be had."""
        redirects = "any" if address == self._url else "none"
        limits = CallLimits(max_response_bytes=most, redirects=redirects, deadline=_LONGEST)
        api = Api(reachable=self._reachable, verify=self._verify, limits=limits)
        try:
            answer = await api.send(httpx2.Request("GET", address, headers=_HEADERS), ())
        except (ToolError, httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise _not_had(address, str(error)) from error
        finally:
            await api.close()
        if not answer.is_success:
            # The library's own error has the whole address in it.
            raise _not_had(address, f"the server answered HTTP {answer.status_code}")
        return answer.content

    async def document(self) -> Document:
        """The document, with the files on its host that it refers to, and those that they do.

        A file that cannot be had, in the time that all have together, is left out.
        """
        content = await self.fetch(self._url, self._most)
        document = await in_io_thread(document_of_site, content, self._url, abandon_on_cancel=True)
        late = f"it could not be fetched, with the others, within {_SECONDS:g} s"
        files = _Files(document, self._most - len(content))
        with anyio.move_on_after(_SECONDS):
            while new := await in_io_thread(files.wanted, abandon_on_cancel=True):
                async with anyio.create_task_group() as group:
                    for address in new:
                        group.start_soon(self._add, files, address)
        files.leave_out_rest(late)
        return document

    async def _add(self, files: "_Files", address: str) -> None:
        try:
            async with files.at_once:
                content = await self.fetch(address, max(files.left, 0))
            await in_io_thread(files.add, address, content, abandon_on_cancel=True)
        except UsageError as error:
            files.leave_out(address, str(error))

    def document_now(self) -> Document:
        """The same for code that cannot wait, whether or not an event loop runs in its thread."""
        with start_blocking_portal() as portal:
            return portal.call(self.document)


def _not_had(address: str, why: str) -> UsageError:
    return UsageError(f"Cannot fetch the OpenAPI document {shown_address(address)!r:.300}: {why}")


class _Files:
    """What a document refers to on its own host: asked for once, and bounded."""

    def __init__(self, document: Document, left: int) -> None:
        self._document = document
        self._site = urlsplit(document.base)[:2]
        self.left = left
        self._unread = [document]
        self._known = {document.base}
        self._open: set[str] = set()
        self.at_once = anyio.CapacityLimiter(8)

    def wanted(self) -> list[str]:
        """What the files that were added since the last time refer to."""
        found = sorted({address for file in self._unread for address in file.others()})
        self._unread, new = [], [address for address in found if address not in self._known]
        for address in new:
            self._known.add(address)
            if urlsplit(address)[:2] != self._site:
                self.leave_out(
                    address, f"{shown_address(address)!r:.300} is on another host than the document"
                )
            elif len(self._known) - 1 > _MOST_FILES:
                self.leave_out(address, f"a document may refer to {_MOST_FILES} other files")
            else:
                self._open.add(address)
        return [address for address in new if address in self._open]

    def add(self, address: str, content: bytes) -> None:
        """Take a file, if there is room for it beside the others."""
        self.left -= len(content)
        if self.left < 0:
            self.leave_out(
                address, f"{shown_address(address)!r:.300} is too large, with what was read before"
            )
        elif (added := self._document.add(address, content)) is not None:
            self._unread.append(added)
        self._open.discard(address)

    def leave_out(self, address: str, why: str) -> None:
        """Note why a file is not there."""
        self._open.discard(address)
        self._document.leave_out(address, why)

    def leave_out_rest(self, why: str) -> None:
        """What has not come counts as not there."""
        # A copy in one step: a thread that was not waited for may still add to them.
        for address in list(self._open):
            self.leave_out(address, f"{shown_address(address)!r:.300}: {why}")
