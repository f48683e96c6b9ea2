"""Which server an operation is called at. The developer's choice comes before the document's."""

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any
from urllib.parse import urljoin

import httpx2

from toolwright._hosts import is_plainly_local, read_host
from toolwright.errors import ToolError
from toolwright.sources.openapi._document import Document
from toolwright.sources.openapi._operations import METHODS, Operation, path_items
from toolwright.sources.openapi._swagger import servers_from_swagger
from toolwright.sources.openapi._values import as_list, as_mapping

__all__ = ["Servers", "host_of"]


class Servers:
    """The servers of one document."""

    def __init__(
        self, document: Document, server_url: str | None, variables: Mapping[str, str]
    ) -> None:
        self._document = document
        self._server_url = server_url
        self._variables = variables

    def url_for(self, operation: Operation) -> httpx2.URL:
        """The address that the operation's path is appended to."""
        text = self._server_url or self._named_by(operation.raw, operation.shared)
        try:
            url = httpx2.URL(text).copy_with(userinfo=b"", fragment=None)
        except httpx2.InvalidURL:
            url = httpx2.URL("")
        if url.scheme not in ("http", "https") or not url.host:
            raise ToolError(
                f"This API's document names no server that can be called (found {text!r}); "
                "the developer can give one with OpenAPIToolset(server_url='https://…')."
            )
        return url

    def address(self, operation: Operation) -> str:
        """Where requests of the operation go, in words; what the document says where that is no
        address."""
        try:
            return str(self.url_for(operation)).rstrip("/")
        except ToolError:
            return self._named_by(operation.raw, operation.shared)

    def all_addresses(self) -> set[str]:
        """Where requests of all operations go, as the document says it."""
        if self._server_url:
            return {self._server_url}
        common, found = self._named_by(), set[str]()
        for _, shared, _ in path_items(self._document):
            for raw in (shared.get(method) for method in METHODS):
                if isinstance(raw, Mapping):
                    has_own = self._listed(raw) or self._listed(shared)
                    found.add(self._named_by(raw, shared) if has_own else common)
        return found

    def main_host(self) -> str:
        """The host that most operations are at; empty when the document does not say."""
        return self._main_host

    def host_for(self, operation: Operation) -> str:
        """The host that requests of the operation go to; empty when that is no address."""
        levels = operation.raw, operation.shared
        if self._server_url or not any(map(self._listed, levels)):
            return self._main_host
        return host_of(self._named_by(*levels))

    @cached_property
    def _main_host(self) -> str:
        return host_of(self._server_url or self._named_by())

    def private_hosts(self, *, handed_over: bool) -> list[str]:
        """Hosts that may be private addresses, because the developer or their document says so.

        The developer's own word counts for any host, the word of a document that they hand over for
        this machine alone. A document from elsewhere says nothing about this network.
        """
        named = {host_of(self._server_url or ""), host_of(self._document.base)}
        if handed_over and is_plainly_local(self.main_host()):
            named.add(self.main_host())
        return sorted(named - {""})

    def _named_by(self, *levels: Mapping[str, Any]) -> str:
        for level in (*levels, self._document.root):
            for server in self._listed(level):
                return urljoin(self._base(), self._filled(server))
        return self._base()

    def _base(self) -> str:
        return self._document.base if _is_web(self._document.base) else ""

    def _listed(self, level: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
        if level is self._document.root and self._document.is_swagger:
            return servers_from_swagger(level)
        listed = as_list(level.get("servers"))
        return [s for s in listed if isinstance(s, Mapping) and isinstance(s.get("url"), str)]

    def _filled(self, server: Mapping[str, Any]) -> str:
        """The server's address with its variables filled in: the developer's values or defaults."""
        variables = as_mapping(server.get("variables"))

        def fill(match: re.Match[str]) -> str:
            default = as_mapping(variables.get(match[1])).get("default", "")
            return str(self._variables.get(match[1], default))

        return re.sub(r"\{([^{}]+)\}", fill, server["url"]).strip()


def _is_web(url: str) -> bool:
    return url.lower().startswith(("http://", "https://"))


def host_of(url: str) -> str:
    """The host in a web address, as a request to it has it; empty when there is none."""
    try:
        host = httpx2.URL(url).raw_host.decode() if _is_web(url) else ""
        return host if read_host(host) else ""
    except (httpx2.InvalidURL, ValueError):
        return ""
