"""One live connection to an MCP server: its listings, its calls, and how it breaks."""

import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib.metadata import version
from typing import Any

import anyio
import httpx2
import mcp_types as types
from mcp import Client
from mcp.client.session import MessageHandlerFnT
from mcp.client.subscriptions import SubscriptionLost
from mcp.shared.dispatcher import ProgressFnT
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from toolwright.backends.sandboxes import ServerSandbox
from toolwright.concurrency import first_cause
from toolwright.errors import ToolError
from toolwright.sources.mcp._listings import Listings
from toolwright.sources.mcp._params import ConnectionParams
from toolwright.sources.mcp._questions import Asking, Questions
from toolwright.sources.mcp._returns import Returns
from toolwright.sources.mcp._transport import way_to
from toolwright.tools import Tool

__all__ = ["Link", "linked"]

_log = logging.getLogger("toolwright.mcp")
_LISTING = 64 * 1024 * 1024
_PAGES = 1000
"""A server that always has a next page must not keep us listing for ever."""
_LONGEST_FRESH_MS = 7 * 24 * 3600 * 1000
_LONGEST_ERROR = 20_000
_LISTEN_AGAIN = 5.0
"""Seconds before a stream of changes that ended is opened again."""
_GONE = ("Connection closed", "Session terminated", "SSE stream")


class Link:
    """A connected server. Broken, it stays broken: a new one is opened instead."""

    def __init__(
        self, client: Client, name: str, questions: Questions, patience: float = 30.0
    ) -> None:
        """`patience` is how long a listing may take, all its pages together."""
        self.client = client
        self.name = name
        self._patience = patience
        self.broken = False
        self.tools: list[Tool] | None = None
        """What was made of the last listing; None when it must be asked for again."""
        self.listed: dict[str, types.Tool] | None = None
        """What the server said of its tools last, by name; None when it has changed them since."""
        self.changes = 0
        """How often the server has said that its tools changed."""
        self._questions = questions
        self._returns = Returns()
        # In place of the SDK's own, which takes as long as a server's schema makes it.
        client.session.validate_tool_result = self._returns.validate_tool_result  # type: ignore[method-assign]
        self._listing_ends = float("inf")

    def forget_listing(self) -> None:
        """The server has said that its tools changed."""
        self.tools = self.listed = None
        self.changes += 1

    @property
    def listing_is_fresh(self) -> bool:
        """Whether `tools` can be used as it is."""
        return self.tools is not None and time.monotonic() < self._listing_ends

    async def list_tools(self) -> list[types.Tool]:
        """All tools, page by page."""
        changes = self.changes
        pages = await self._pages(self.client.list_tools)
        # None: until the server says otherwise.
        ttl = min((page.ttl_ms for page in pages if page.ttl_ms), default=None)
        fresh = float("inf") if ttl is None else min(ttl, _LONGEST_FRESH_MS) / 1000
        self._listing_ends = time.monotonic() + fresh
        tools = [tool for page in pages for tool in page.tools]
        self.tools = None
        by_name = {tool.name: tool for tool in reversed(tools)}  # Of one name, the first.
        self._returns.tools = by_name
        if self.changes == changes:
            self.listed = by_name
        return tools

    async def current(self, name: str) -> types.Tool | None:
        """What the server says of a tool now; it is asked if it has changed anything."""
        if self.listed is not None and time.monotonic() < self._listing_ends:
            return self.listed.get(name)
        return next((tool for tool in await self.list_tools() if tool.name == name), None)

    async def list_resources(self) -> list[types.Resource]:
        """All resources, page by page; none where the server has no such thing."""
        if self.client.server_capabilities.resources is None:
            return []
        pages = await self._pages(self.client.list_resources)
        return [resource for page in pages for resource in page.resources]

    async def list_resource_templates(self) -> list[types.ResourceTemplate]:
        """All resource templates, page by page."""
        if self.client.server_capabilities.resources is None:
            return []
        pages = await self._pages(self.client.list_resource_templates)
        return [template for page in pages for template in page.resource_templates]

    async def list_prompts(self) -> list[types.Prompt]:
        """All prompts, page by page."""
        if self.client.server_capabilities.prompts is None:
            return []
        pages = await self._pages(self.client.list_prompts)
        return [prompt for page in pages for prompt in page.prompts]

    async def call(
        self,
        name: str,
        arguments: dict[str, Any],
        asking: Asking,
        timeout: float | None,
        on_progress: ProgressFnT,
    ) -> types.CallToolResult:
        """Call a tool; what the server asks meanwhile is asked on behalf of `asking`."""
        modern = self.client.protocol_version in MODERN_PROTOCOL_VERSIONS
        async with self._questions.on_behalf_of(asking, says_for_whom=modern):
            return await self.ask(
                self.client.call_tool(
                    name,
                    arguments,
                    read_timeout_seconds=timeout,
                    progress_callback=on_progress,
                ),
                f"{name!r} was called",
            )

    async def ask(self, request: Awaitable[Any], what: str) -> Any:
        """Await a request; what goes wrong becomes a `ToolError`, and a lost connection is noted."""
        try:
            return await request
        except MCPError as error:
            if error.message.startswith(_GONE):
                self.broken = True
                raise ToolError(
                    f"{self.name} stopped while {what} ({error.message}); the connection is opened "
                    "again when it is next needed.",
                    outcome_unknown=True,
                ) from error
            unknown = error.code == types.REQUEST_TIMEOUT
            told = error.message[:_LONGEST_ERROR]
            raise ToolError(f"{self.name}: {told}", outcome_unknown=unknown) from error
        except (ValidationError, RuntimeError) as error:
            raise ToolError(
                f"{self.name} sent something that MCP does not allow, while {what}: {error}"
            ) from error

    async def _pages(self, fetch: Callable[..., Awaitable[Any]]) -> list[Any]:
        try:
            with anyio.fail_after(self._patience):
                return await self._all_pages(fetch)
        except TimeoutError:
            raise ToolError(
                f"{self.name} was not done with its listing after {self._patience:g} s."
            ) from None

    async def _all_pages(self, fetch: Callable[..., Awaitable[Any]]) -> list[Any]:
        pages: list[Any] = []
        size, cursor = 0, None
        while len(pages) < _PAGES:
            page = await self.ask(fetch(cursor=cursor), "listing was under way")
            pages.append(page)
            size += len(page.model_dump_json())
            if size > _LISTING:
                raise ToolError(f"{self.name} has more than {_LISTING:,} letters to list.")
            if page.next_cursor is None or page.next_cursor == cursor:
                return pages
            cursor = page.next_cursor
        raise ToolError(f"{self.name} has more than {_PAGES} pages to list.")

    async def watch_changes(self) -> None:
        """On a server of 2026-07-28 or later, listen for changed listings until the link ends."""
        capability = self.client.server_capabilities.tools
        modern = self.client.protocol_version in MODERN_PROTOCOL_VERSIONS
        if not modern or capability is None or not capability.list_changed:
            return
        while not self.broken:
            try:
                async with self.client.listen(tools_list_changed=True) as events:
                    self.forget_listing()  # What changed before anybody listened is not told.
                    async for _ in events:
                        self.forget_listing()
            except (MCPError, TimeoutError) as error:
                _log.debug("%s gives no news of changed tools: %s", self.name, error)
                return
            except SubscriptionLost:
                _log.debug("%s: the stream of changes ended; it is opened again", self.name)
            self.forget_listing()
            await anyio.sleep(_LISTEN_AGAIN)


@asynccontextmanager
async def linked(
    params: ConnectionParams,
    name: str,
    questions: Questions,
    headers: dict[str, str],
    auth: httpx2.Auth | None = None,
    sandbox: ServerSandbox | None = None,
) -> AsyncIterator[Link]:
    """Connect, shake hands, and keep the connection until the context is left."""
    way = way_to(params, name, headers, auth, sandbox)
    link: Link | None = None

    async def on_message(message: Any) -> None:
        if isinstance(message, types.ToolListChangedNotification) and link is not None:
            link.forget_listing()

    listings = Listings(name)
    client = _client(listings.over(way.transport), questions, on_message)
    try:
        async with client, anyio.create_task_group() as tasks:
            listings.version = client.protocol_version
            link = Link(client, name, questions, params.timeout)
            tasks.start_soon(link.watch_changes)
            try:
                yield link
            finally:
                link.broken = True
                tasks.cancel_scope.cancel()
    except Exception as error:  # noqa: BLE001 - raised again, told in one sentence
        cause = first_cause(error)
        if link is None and way.last_words():
            raise ConnectionError(f"{cause}; its last words were: {way.last_words()}") from cause
        raise cause from None


def _client(
    transport: AbstractAsyncContextManager[Any], questions: Questions, on_message: MessageHandlerFnT
) -> Client:
    """A client that says it can answer what it was allowed to answer, and no more."""
    return Client(
        transport,
        cache=None,  # The link keeps what it has listed itself.
        log_level="info",
        logging_callback=questions.log,
        message_handler=on_message,
        elicitation_callback=questions.elicit,
        sampling_callback=questions.sample if questions.allow_sampling else None,
        list_roots_callback=questions.list_roots if questions.roots else None,
        client_info=types.Implementation(name="toolwright", version=version("toolwright")),
    )
