"""Which server an operation is called at. The developer's choice comes before the document's."""

import ipaddress
import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urljoin, urlsplit

import httpx

from toolwright.errors import ToolError
from toolwright.sources.openapi._document import Document
from toolwright.sources.openapi._operations import Operation
from toolwright.sources.openapi._swagger import servers_from_swagger
from toolwright.sources.openapi._values import as_list, as_mapping

__all__ = ["Servers"]

_PRIVATE_ENDINGS = (".localhost", ".local", ".lan", ".test")


class Servers:
    """The servers of one document."""

    def __init__(
        self, document: Document, server_url: str | None, variables: Mapping[str, str]
    ) -> None:
        self._document = document
        self._server_url = server_url
        self._variables = variables

    def url_for(self, operation: Operation) -> httpx.URL:
        """The address that the operation's path is appended to."""
        text = self._server_url or self._named_by(operation.raw, operation.shared)
        try:
            url = httpx.URL(text).copy_with(userinfo=b"", fragment=None)
        except httpx.InvalidURL:
            url = httpx.URL("")
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

    def main_host(self) -> str:
        """The host that most operations are at; empty when the document does not say."""
        return _host(self._server_url or self._named_by())

    def private_hosts(self) -> list[str]:
        """Hosts that may be private addresses, because the developer or their document says so.

        A document from the web says nothing about this network; only its own host counts.
        """
        given = [self._server_url or "", self._document.base]
        if not _is_web(self._document.base):
            given += [self._filled(server) for server in self._listed(self._document.root)]
            given = [url for url in given if url == self._server_url or _looks_private(url)]
        return [host for url in given if (host := _host(url))]

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
    return url.startswith(("http://", "https://"))


def _host(url: str) -> str:
    """The host in a web address; empty when there is none."""
    try:
        return urlsplit(url).hostname or "" if _is_web(url) else ""
    except ValueError:
        return ""


def _looks_private(url: str) -> bool:
    """Whether the text alone says that a host is on this machine or in its own network.

    Never so for link-local addresses: there a cloud keeps its machines' credentials.
    """
    host = _host(url)
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return bool(host) and ("." not in host or host.endswith(_PRIVATE_ENDINGS))
    return not address.is_global and not address.is_link_local
