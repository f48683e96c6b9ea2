"""The operations of an OpenAPI document as tools."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import parse_qsl, urlsplit

from toolwright.backends import Reachable
from toolwright.concurrency import Once
from toolwright.errors import UsageError
from toolwright.messages import AuthCredential, AuthScheme, Trust
from toolwright.sources._secret_names import digest_of_plain, shown_address
from toolwright.sources._usable import from_outside, listed_tools
from toolwright.sources.openapi._client import Api, CallLimits, SslVerify, read_ssl
from toolwright.sources.openapi._document import (
    Document,
    document_at,
    document_from,
    is_web,
)
from toolwright.sources.openapi._load import TextKind
from toolwright.sources.openapi._operations import list_operations
from toolwright.sources.openapi._security import Security, sign_in_addresses
from toolwright.sources.openapi._servers import Servers, host_of
from toolwright.sources.openapi._site import Site
from toolwright.sources.openapi._tool import Connection, HeaderProvider, RestApiTool
from toolwright.tools import ReadonlyContext, Tool, ToolFilter, Toolset

__all__ = ["OpenAPIToolset"]


class OpenAPIToolset(Toolset):
    """One `RestApiTool` for each operation of an OpenAPI 3.x or Swagger 2.0 document.

    Give the document as `source` (a path or web address), `spec_dict` or `spec_str`. A document
    from the web is fetched when its tools are first asked for; any other is read right away. While
    one from the web cannot be had its tools are missing from the list, and the log says why; with
    `required=True`, listing raises instead.
    """

    _from_elsewhere: ClassVar[bool] = False
    """Whether the document was not the developer's to look at before it was used."""

    def __init__(
        self,
        source: str | Path | None = None,
        *,
        spec_dict: Mapping[str, Any] | None = None,
        spec_str: str | None = None,
        spec_str_type: TextKind = "json",
        auth_scheme: AuthScheme | None = None,
        auth_credential: AuthCredential | None = None,
        credential_key: str | None = None,
        tool_filter: ToolFilter = None,
        tool_name_prefix: str | None = None,
        ssl_verify: SslVerify = None,
        header_provider: HeaderProvider | None = None,
        preserve_property_names: bool = False,
        server_url: str | None = None,
        server_variables: Mapping[str, str] | None = None,
        allow_private: Sequence[str] | Reachable = (),
        limits: CallLimits | None = None,
        name: str | None = None,
        trust: Trust | None = None,
        max_document_bytes: int = 100_000_000,
        required: bool = False,
    ) -> None:
        """Prepare the toolset.

        Args:
            source: Path or web address of the document.
            spec_dict: The document, parsed.
            spec_str: The document, as text.
            spec_str_type: How `spec_str` is written, "json" or "yaml".
            auth_scheme: How to sign in to every operation; without it, as the document says.
            auth_credential: The credential, or the client to get one with.
            credential_key: Toolsets and tools with the same key share one credential.
            tool_filter: Names or operationIds to keep, a predicate, or
                `operations(tags=…, paths=…, methods=…)`.
            tool_name_prefix: Put before every tool's name.
            ssl_verify: False, a file or folder of certificates to trust, or an `ssl.SSLContext`.
            header_provider: Gives headers for each request from the `ReadonlyContext`.
            preserve_property_names: Keep `camelCase` arguments instead of snake-casing them.
            server_url: Call this server, whatever the document says.
            server_variables: Values for variables in the document's server addresses.
            allow_private: Hosts, addresses or networks that may be called though not public, or a
                `Reachable` with a resolver of its own.
            limits: Time, retries, size and redirects of calls.
            name: What rules and sessions know the API by, as `openapi:NAME@HOST`; without it, the
                document's address or the name of its file.
            max_document_bytes: Of the document and the files that it refers to, together.
            required: Raise when the document cannot be fetched, instead of having no tools.
        """
        super().__init__(tool_filter=tool_filter, tool_name_prefix=None, trust=trust)
        _check_one_given(source=source, spec_dict=spec_dict, spec_str=spec_str)
        self._prefix = _joined(tool_name_prefix)
        self._source = source
        self._name = name
        self._auth = auth_scheme, auth_credential, credential_key
        self._verify = read_ssl(ssl_verify)
        self._header_provider = header_provider
        self._preserve_property_names = preserve_property_names
        self._server = server_url, dict(server_variables or {})
        self._allow_private = Reachable.of(allow_private)
        self._limits = limits or CallLimits()
        self._most = max_document_bytes
        self._required = required
        self._document = None if source is not None else document_from(
            spec_dict if spec_dict is not None else spec_str or "", spec_str_type
        )  # fmt: skip
        if source is not None and not is_web(str(source)):
            self._document = document_at(source, self._most)
        self._fetched = Once(lambda: self._site.document())

    async def get_tools(self, readonly_context: ReadonlyContext | None = None) -> list[RestApiTool]:
        """A tool for each operation, in the document's order."""
        whose = f"OpenAPI document {_name_of(self._source)!r}"
        tools = await listed_tools(whose, self._list, required=self._required)
        self._is_away = tools is None
        return tools or []

    async def _list(self) -> list[RestApiTool]:
        if self._document is None:
            with from_outside():
                self._document = await self._fetched.get()
        return list(self._tools.values())

    def get_tool(self, name: str) -> RestApiTool:
        """The tool of one operation, by its name with or without the prefix, or its operationId."""
        tools = self._tools
        tool = tools.get(self._named(name, tools.values()))
        if tool is None:
            near = ", ".join(list(tools)[:10]) or "none"
            raise UsageError(f"This document has no operation {name!r}; it has: {near} …")
        return tool

    def _names_kept(self, tools: Sequence[Tool]) -> ToolFilter:
        """A filter may name tools with or without the prefix, and operations as the document does."""
        keep = self.tool_filter
        if isinstance(keep, str) or not isinstance(keep, Collection):
            return keep
        return {self._named(name, tools) for name in keep}

    def _named(self, name: str, tools: Iterable[Tool]) -> str:
        """The name of the tool that is meant by `name`; the same where none is."""
        made = list(tools)
        names = {tool.name for tool in made}
        if name in names:
            return name
        if self._prefix + name in names:
            return self._prefix + name
        operations = (tool for tool in made if isinstance(tool, RestApiTool))
        return next((t.name for t in operations if t.operation.operation_id == name), name)

    def problems(self) -> dict[str, tuple[str, ...]]:
        """Operations of which something could not be understood, and why. Looks at all of them."""
        return {name: tool.problems for name, tool in self._tools.items() if tool.problems}

    def addresses(self) -> list[str]:
        """Where its calls go and where people would sign in, as the document says; nothing is called.

        Raises `UsageError` when a file that it refers to cannot be read: that may say more.
        """
        document = self._read()
        called = Servers(document, *self._server).all_addresses()
        found = sorted({*called, *sign_in_addresses(document)})
        if document.left_out:
            raise UsageError("; ".join(document.left_out)[:2000])
        return found

    async def close(self) -> None:
        """Close the connections."""
        if "_connection" in vars(self):
            await self._connection.api.close()

    @cached_property
    def _tools(self) -> dict[str, RestApiTool]:
        found = list_operations(self._read())
        made = [RestApiTool(op, self._connection, self._prefix + op.name) for op in found.values()]
        return {tool.name: tool for tool in made}

    @cached_property
    def _connection(self) -> Connection:
        document = self._read()
        servers = Servers(document, *self._server)
        handed_over = not self._from_elsewhere and not is_web(str(self._source or ""))
        private = servers.private_hosts(handed_over=handed_over)
        reachable = Reachable.of(self._allow_private, *private)
        return Connection(
            api=Api(reachable=reachable, verify=self._verify, limits=self._limits),
            servers=servers,
            security=Security(document, *self._auth, reachable=None if handed_over else reachable),
            header_provider=self._header_provider,
            preserve_property_names=self._preserve_property_names,
            name=self._name or _name_of(self._source),
        )

    def _read(self) -> Document:
        if self._document is None:
            self._document = self._site.document_now()
        return self._document

    @property
    def _site(self) -> Site:
        url = str(self._source)
        # The developer's own word: this host may be private, what it redirects to may not.
        reachable = Reachable.of(self._allow_private, *filter(None, [host_of(url)]))
        return Site(url, verify=self._verify, reachable=reachable, most=self._most)

    def _listed_as(self, tool: Tool) -> str:
        """By what the developer has given, and not by what the document says of itself.

        A document that is handed over as a value, without a name, can only be told by its main host.
        """
        server, variables = self._server
        settings = {f"{{{name}}}": value for name, value in variables.items()}
        settings |= {"server": server} if server else {}
        settings |= {"names": "preserved"} if self._preserve_property_names else {}
        if self._name:
            return f"openapi:{self._name}{digest_of_plain(settings)}"
        if self._source is None:
            return f"openapi:@{self._connection.servers.main_host()}{digest_of_plain(settings)}"
        if not is_web(str(self._source)):
            return f"openapi:{self._source}{digest_of_plain(settings)}"
        query = dict(parse_qsl(urlsplit(str(self._source)).query))
        return f"openapi:{_name_of(self._source)}{digest_of_plain({**settings, **query})}"


def _name_of(source: str | Path | None) -> str:
    """The document's address without what may be a secret in it, or the name of its file."""
    if source is None:
        return ""
    return shown_address(str(source)) if is_web(str(source)) else Path(source).name


def _check_one_given(**sources: Any) -> None:
    given = [name for name, value in sources.items() if value is not None]
    if len(given) != 1:
        raise UsageError(
            f"Give the document as exactly one of {', '.join(sources)}; "
            f"got {' and '.join(given) or 'none'}."
        )


def _joined(prefix: str | None) -> str:
    return "" if not prefix else prefix if prefix.endswith("_") else f"{prefix}_"
