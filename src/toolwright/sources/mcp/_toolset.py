"""The tools of an MCP server."""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import mcp_types as types
from mcp.shared.dispatcher import ProgressFnT

from toolwright.backends.sandboxes import ServerSandbox
from toolwright.errors import ToolError, UsageError
from toolwright.messages import AuthConfig, AuthCredential, AuthScheme, Message, ToolSpec, Trust
from toolwright.sources._as_listed import refuse_changed
from toolwright.sources._counted import LONGEST_PROGRESS, CountedProgress
from toolwright.sources._usable import LONGEST_DESCRIPTION, listed_tools, usable_tools
from toolwright.sources.mcp._auth import needs_sign_in
from toolwright.sources.mcp._connections import Connections, HeaderProvider
from toolwright.sources.mcp._content import effects_of, output_of
from toolwright.sources.mcp._link import Link
from toolwright.sources.mcp._params import (
    ConnectionParams,
    StdioServerParameters,
    connection_params_of,
)
from toolwright.sources.mcp._prompts import messages_of
from toolwright.sources.mcp._questions import LATER, AllowSampling, Asking, Questions, pending_for
from toolwright.sources.mcp._resources import is_resource_tool, read_resource, resource_tool
from toolwright.sources.mcp._returns import check_returns
from toolwright.sources.mcp._sign_in import sign_in_tool
from toolwright.tools import (
    Args,
    Output,
    ReadonlyContext,
    Require,
    Tool,
    ToolContext,
    ToolFilter,
    Toolset,
    ask_to_sign_in,
    checked_parser,
    with_confirmation,
)

__all__ = ["McpToolset", "name_for_models"]

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")
"""MCP names may have dots and slashes; models do not take those."""
ProgressCallback = Callable[[float, float | None, str | None], Awaitable[None] | None]


def name_for_models(name: str) -> str:
    """What a tool of a server is called here."""
    return _NOT_IN_NAMES.sub("_", name)[:64]


class McpToolset(Toolset):
    """The tools of one MCP server, over stdio, streamable HTTP or the older SSE.

    Nothing is started before the tools are asked for. A server that dies gives its calls in flight
    an error result and is started again, with growing pauses. While it cannot be reached its tools
    are missing from the list, and the log says why; with `required=True`, listing raises instead.
    It may be used and closed from any task.
    """

    _on_listing: Callable[[Sequence[Tool]], None] | None = None
    """Sees what the server has, before filter and prefix."""

    def __init__(
        self,
        connection_params: ConnectionParams | StdioServerParameters | str,
        *,
        tool_filter: ToolFilter = None,
        tool_name_prefix: str | None = None,
        auth_scheme: AuthScheme | None = None,
        auth_credential: AuthCredential | None = None,
        credential_key: str | None = None,
        require_confirmation: Require = False,
        progress_callback: ProgressCallback | None = None,
        use_mcp_resources: bool = False,
        header_provider: HeaderProvider | None = None,
        auth: httpx2.Auth | None = None,
        name: str | None = None,
        allow_sampling: AllowSampling = False,
        roots: Sequence[str | Path] = (),
        call_timeout: float | None = 300.0,
        required: bool = False,
        sandbox: ServerSandbox | None = None,
        trust: Trust | None = None,
    ) -> None:
        """Describe the server; `connection_params` may also be a URL or `StdioServerParameters`.

        `require_confirmation`, a flag or a predicate over the arguments, asks a person before a
        tool runs. `header_provider` gives headers per user; `auth_scheme` signs each user in through
        the runner's credentials, while `auth` is one identity for all, such as the SDK's
        `OAuthClientProvider`. `allow_sampling` lets the server use the agent's model; what it asks
        of a person always becomes a pending call. A server over stdio runs in `sandbox`, or with
        this program's rights. What its tools answer is untrusted, unless `trust` says otherwise.
        """
        super().__init__(tool_filter=tool_filter, tool_name_prefix=tool_name_prefix, trust=trust)
        self.connection_params = params = connection_params_of(connection_params)
        self.name = name or params.label
        self._source = f"mcp:{name}@{params.identity}" if name else f"mcp:{params.identity}"
        self._key = f"{self._source}{params.variant}"
        self._auth_config = _auth_config(auth_scheme, auth_credential, credential_key)
        self._require_confirmation = require_confirmation
        self._progress_callback = progress_callback
        self._use_resources = use_mcp_resources
        self._call_timeout = call_timeout
        self._required = required
        label = f"MCP server {self.name!r}"
        self._connections = Connections(
            params,
            label,
            lambda: Questions(label, allow_sampling, roots),
            header_provider=header_provider,
            auth_config=self._auth_config,
            auth=auth,
            sandbox=sandbox,
        )
        self._listed: Link | None = None

    @property
    def cache_listing(self) -> bool:  # type: ignore[override]
        """Whether the last listing still holds: the server has not said that it changed."""
        link = self._listed
        return link is not None and not link.broken and link.listing_is_fresh

    async def get_tools(self, readonly_context: ReadonlyContext | None = None) -> list[Tool]:
        """What the server has, and `load_mcp_resource` if it was asked for."""
        ask = partial(self._list, readonly_context)
        tools = await listed_tools(f"MCP server {self.name!r}", ask, required=self._required)
        self._is_away = tools is None
        return tools or []

    async def _list(self, context: ReadonlyContext | None) -> list[Tool]:
        if self._auth_config and await needs_sign_in(context, self._auth_config):
            return [sign_in_tool(self.name, self._auth_config, self._source)]
        link = await self._connections.get(context)
        tools = link.tools if link.listing_is_fresh else await self._make_tools(link)
        self._listed = link
        if tools and self._on_listing:
            self._on_listing(tools)
        return tools or []

    async def open(self, context: ReadonlyContext | None = None) -> None:
        """Connect now, unless a sign-in must come first; `ToolError` when there is no server."""
        if not (self._auth_config and await needs_sign_in(context, self._auth_config)):
            await self._connections.get(context)

    def _listed_as(self, tool: Tool) -> str:
        """By what may make the server list other tools; the one for resources is ours."""
        return f"{self._key}#resources" if is_resource_tool(tool) else self._key

    async def close(self) -> None:
        """End the connections and stop the server if we started it."""
        await self._connections.close()

    async def list_resources(self, context: ReadonlyContext | None = None) -> list[types.Resource]:
        """All resources of the server."""
        return await (await self._connections.get(context)).list_resources()

    async def read_resource(self, uri: str, context: ReadonlyContext | None = None) -> Output:
        """The contents of one resource."""
        return await read_resource(await self._connections.get(context), uri, self._source)

    async def list_prompts(self, context: ReadonlyContext | None = None) -> list[types.Prompt]:
        """All prompts of the server."""
        return await (await self._connections.get(context)).list_prompts()

    async def get_prompt(
        self,
        name: str,
        arguments: Mapping[str, str] | None = None,
        context: ReadonlyContext | None = None,
    ) -> list[Message]:
        """A prompt of the server, filled in, as messages to start a conversation with."""
        link = await self._connections.get(context)
        request = link.client.get_prompt(name, dict(arguments or {}))
        prompt = await link.ask(request, f"prompt {name!r} was asked for")
        return messages_of(prompt, self._source)

    async def _make_tools(self, link: Link) -> list[Tool]:
        changes = link.changes
        tools = usable_tools(link.name, await link.list_tools(), self._make_tool)
        if self._use_resources:
            resources = await link.list_resources()
            templates = await link.list_resource_templates()
            tool = resource_tool(resources, templates, self._connections.get, self._source)
            tools.append(with_confirmation(tool, self._require_confirmation))
        if link.changes == changes:  # Otherwise it has changed again while it was listed.
            link.tools = tools
        return tools

    def _make_tool(self, listed: types.Tool) -> Tool:
        name = listed.name  # What the server calls it; the model may know it by a prefixed name.
        hints = listed.annotations
        parameters = {"type": "object", "properties": {}, **listed.input_schema}
        if not name:
            raise UsageError("It has no name.")
        parse = checked_parser(name, parameters)
        check_returns(name, listed.output_schema)

        async def run(args: Args, ctx: ToolContext) -> Output:
            return await self._call(listed, args, ctx)

        tool = Tool(
            spec=ToolSpec(
                name=name_for_models(name),
                description=(listed.description or listed.title or "")[:LONGEST_DESCRIPTION],
                parameters=parameters,
                returns=listed.output_schema,
            ),
            parse=parse,
            run=run,
            effects=effects_of(hints),
            idempotent=bool(hints and (hints.idempotent_hint or hints.read_only_hint)),
            source=self._source,
        )
        return with_confirmation(tool, self._require_confirmation)

    async def _call(self, listed: types.Tool, args: Args, ctx: ToolContext) -> Output:
        if self._auth_config and await needs_sign_in(ctx, self._auth_config):
            return ask_to_sign_in(ctx, self._auth_config)
        link, name = await self._connections.get(ctx), listed.name
        asking = Asking(ctx, list(ctx.answers))
        try:
            now = await link.current(name)
            refuse_changed(name, link.name, _said(listed), now and _said(now))
            result = await self._ask_server(link, name, args, asking)
        except ToolError:
            if asking.question is None:
                # The server may have refused a credential that looked good.
                if self._auth_config and await needs_sign_in(ctx, self._auth_config):
                    return ask_to_sign_in(ctx, self._auth_config, before=False)
                raise
        else:
            if asking.question is None:
                return output_of(result)
        return pending_for(asking.question)

    async def _ask_server(
        self, link: Link, name: str, args: Args, asking: Asking
    ) -> types.CallToolResult:
        """Make the call; again, alone, if it was turned away at a question that nobody could place."""
        settings = (self._call_timeout, self._on_progress(asking.ctx))
        try:
            result = await link.call(name, args, asking, *settings)
        except ToolError as error:
            if asking.question is not None or LATER not in str(error):
                raise
        else:
            turned_away = result.is_error and LATER in output_of(result).text
            if asking.question is not None or not turned_away:
                return result
        asking.answers[:] = asking.ctx.answers
        return await link.call(name, args, asking, *settings)

    def _on_progress(self, ctx: ToolContext) -> ProgressFnT:
        counted = CountedProgress(ctx.progress)

        async def show(progress: float, total: float | None, message: str | None) -> None:
            of = f"/{total:g}" if total else ""
            message = message and message[:LONGEST_PROGRESS]
            shown = counted(
                message or f"{progress:g}{of}",
                {"progress": progress, "total": total, "message": message},
            )
            if shown and self._progress_callback is not None:
                called = self._progress_callback(progress, total, message)
                if called is not None:
                    await called

        return show


def _said(tool: types.Tool) -> tuple[Any, ...]:
    """What a tool is judged by."""
    return (
        tool.description or tool.title,
        tool.input_schema,
        tool.output_schema,
        tool.annotations,
    )


def _auth_config(
    scheme: AuthScheme | None, credential: AuthCredential | None, key: str | None
) -> AuthConfig | None:
    if scheme is None:
        if credential is not None or key is not None:
            raise UsageError("auth_credential and credential_key need an auth_scheme, too.")
        return None
    return AuthConfig(auth_scheme=scheme, raw_auth_credential=credential, credential_key=key or "")
