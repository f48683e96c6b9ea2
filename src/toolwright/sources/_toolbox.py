"""The tools of an MCP Toolbox for Databases server."""

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from toolwright.errors import ToolError, UsageError
from toolwright.messages import ToolSpec, Trust
from toolwright.sources._as_listed import refuse_changed
from toolwright.sources._reopening import Reopening
from toolwright.sources._secret_names import shown_address
from toolwright.sources._toolbox_http import ASKING, FAILURES, measuring_session
from toolwright.sources._usable import LONGEST_DESCRIPTION, listed_tools, usable_tools
from toolwright.tools import (
    Args,
    Output,
    ReadonlyContext,
    Tool,
    ToolContext,
    ToolFilter,
    Toolset,
    checked_parser,
    digest_of,
    nearest,
    to_output,
    with_timeout,
)

try:
    from aiohttp import ClientError
    from toolbox_core import ToolboxClient
    from toolbox_core.exceptions import ToolboxError
    from toolbox_core.protocol import ParameterSchema
    from toolbox_core.tool import ToolboxTool
except ImportError as error:
    raise ImportError("Toolbox needs an extra: pip install 'toolwright[toolbox]'") from error

__all__ = ["ToolboxToolset"]

Value = Any | Callable[[], Any] | Callable[[], Awaitable[Any]]
"""A value, or a function that is called for it each time."""


@dataclass(slots=True)
class _Loaded:
    """A client and what it has loaded; a lost connection is the client's own to mend."""

    remote: list[ToolboxTool]
    tools: list[Tool] | None = None
    broken: bool = False


class ToolboxToolset(Toolset):
    """Tools that a Toolbox server offers over its databases.

    With `toolset_name` all tools of that toolset are loaded, with `tool_names` these tools, with
    neither all there are. A bound parameter is filled in here and never shown to the model.
    `credentials` is called for a token, which is sent to the server with each request. `timeout` is
    how many seconds the server has to list its tools, and for each call.
    """

    def __init__(
        self,
        server_url: str,
        toolset_name: str | None = None,
        tool_names: Sequence[str] | None = None,
        auth_token_getters: Mapping[str, Callable[[], Any]] | None = None,
        bound_params: Mapping[str, Value] | None = None,
        credentials: Callable[[], Any] | None = None,
        additional_headers: Mapping[str, Value] | None = None,
        *,
        timeout: float = 30.0,
        required: bool = False,
        tool_filter: ToolFilter = None,
        tool_name_prefix: str | None = None,
        trust: Trust | None = None,
    ) -> None:
        """Describe the server; it is asked when the tools are first listed."""
        super().__init__(tool_filter=tool_filter, tool_name_prefix=tool_name_prefix, trust=trust)
        if isinstance(tool_names, str):
            raise UsageError(f"tool_names is a list of names; got the text {tool_names!r}.")
        self._url = server_url
        self._toolset_name = toolset_name
        self._tool_names = tool_names
        self._getters = dict(auth_token_getters or {})
        self._bound = dict(bound_params or {})
        self._headers = dict(additional_headers or {})
        if credentials is not None:
            self._headers["Authorization"] = _bearer(credentials)
        self._required = required
        self._fitted = False
        """Whether the server's tools have had every name that is bound."""
        self._timeout = timeout
        self._loaded: Reopening[_Loaded] = Reopening(
            self._open, f"Toolbox server {shown_address(server_url)!r}", timeout
        )

    async def get_tools(self, readonly_context: ReadonlyContext | None = None) -> list[Tool]:
        """What was asked for, loaded once."""
        whose = f"Toolbox server {shown_address(self._url)!r}"
        tools = await listed_tools(whose, self._list, required=self._required)
        self._is_away = tools is None
        return tools or []

    async def _list(self) -> list[Tool]:
        loaded = await self._loaded.get()
        if loaded.tools is None:
            whose = f"Toolbox server {shown_address(self._url)!r}"
            loaded.tools = usable_tools(whose, loaded.remote, self._make_tool)
        return loaded.tools

    def _listed_as(self, tool: Tool) -> str:
        """By what was asked of the server; what is bound is not in the schemas."""
        asked = [self._toolset_name, list(self._tool_names or ()), sorted(self._bound)]
        return f"{tool.source}#{digest_of(asked)[:16]}"

    async def close(self) -> None:
        """End the connection."""
        await self._loaded.close()

    @asynccontextmanager
    async def _open(self) -> AsyncIterator[_Loaded]:
        async with measuring_session() as session:
            client = ToolboxClient(self._url, session, client_headers=self._headers or None)
            try:
                yield _Loaded(await self._load(client))
            finally:
                await client.close()

    async def _load(self, client: ToolboxClient) -> list[ToolboxTool]:
        remote: list[ToolboxTool] = []
        if self._toolset_name is not None or self._tool_names is None:
            remote += await client.load_toolset(self._toolset_name)
        remote += [await client.load_tool(name) for name in self._tool_names or ()]
        if remote:
            self._refuse_unused(remote)
        # Bound here rather than while loading, where a tool without the parameter is an error.
        return [_bind(tool, self._getters, self._bound) for tool in remote]

    def _refuse_unused(self, remote: Sequence[ToolboxTool]) -> None:
        """A misspelt name would leave the parameter to the model.

        The developer's to mend as long as no listing has ever had it; what had it and has it no
        more is a server that has changed, whose tools are missing then, and the run goes on.
        """
        refusal = ToolError if self._fitted else UsageError
        parameters = {p.name for tool in remote for p in tool._params}
        logins = {name for tool in remote for name in _logins(tool)}
        for setting, given, known in (
            ("bound_params", self._bound, parameters),
            ("auth_token_getters", self._getters, logins),
        ):
            if name := next((name for name in given if name not in known), None):
                raise refusal(
                    f"{setting} names {name!r}, which no tool of the server has; "
                    f"{nearest(name, known)}"
                )
        self._fitted = True

    def _make_tool(self, remote: ToolboxTool) -> Tool:
        name = remote.__name__
        parameters = _json_schema(remote._params)

        async def run(args: Args, ctx: ToolContext) -> Output:
            # Called anew for each loop: the client's connections belong to one.
            loaded = {tool.__name__: tool for tool in (await self._loaded.get()).remote}
            current = loaded.get(name)
            now = None if current is None else _said(current)
            refuse_changed(name, f"Toolbox server {shown_address(self._url)!r}", _said(remote), now)
            assert current is not None
            failures: list[Any] = []
            asking, failing = ASKING.set(ctx), FAILURES.set(failures)
            try:
                output = to_output(await current(**args))
            except (ToolboxError, ClientError, PermissionError, ValueError, RuntimeError) as error:
                raise ToolError(f"{name!r} failed: {error!s:.2000}") from error
            finally:
                ASKING.reset(asking)
                FAILURES.reset(failing)
            if failures:
                raise ToolError(f"{name!r} failed: {output.text:.2000}")
            return output

        made = Tool(
            spec=ToolSpec(
                name=name,
                description=remote._description[:LONGEST_DESCRIPTION],
                parameters=parameters,
            ),
            parse=checked_parser(name, parameters),
            run=run,
            source=f"toolbox:{self._url}",
        )
        return with_timeout(made, self._timeout)


def _said(remote: ToolboxTool) -> tuple[str, dict[str, Any]]:
    return remote._description, _json_schema(remote._params)


def _bearer(token: Callable[[], Any]) -> Callable[[], Awaitable[str]]:
    async def header() -> str:
        found = token()
        return f"Bearer {await found if inspect.isawaitable(found) else found}"

    return header


def _bind(
    tool: ToolboxTool, getters: Mapping[str, Callable[[], Any]], bound: Mapping[str, Value]
) -> ToolboxTool:
    """`tool` with those tokens and values that it has a use for."""
    wanted = _logins(tool)
    if tokens := {name: getter for name, getter in getters.items() if name in wanted}:
        tool = tool.add_auth_token_getters(tokens)
    names = {parameter.name for parameter in tool._params}
    values = {name: value for name, value in bound.items() if name in names}
    return tool.bind_params(values) if values else tool


def _logins(tool: ToolboxTool) -> set[str]:
    """The sign-ins that a tool needs a token of."""
    wanted = {s for sources in tool._required_authn_params.values() for s in sources}
    return wanted | set(tool._required_authz_tokens)


def _json_schema(parameters: Sequence[ParameterSchema]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {p.name: _field(p) for p in parameters},
        "required": [p.name for p in parameters if p.required and not p.has_default],
        "additionalProperties": False,
    }


def _field(parameter: ParameterSchema) -> dict[str, Any]:
    kind = "number" if parameter.type == "float" else parameter.type
    field: dict[str, Any] = {"type": kind, "description": parameter.description}
    if parameter.items is not None:
        field["items"] = {"type": parameter.items.type, "description": parameter.items.description}
    if parameter.has_default:
        field["default"] = parameter.default
    values = parameter.additionalProperties
    if values is not None:
        field["additionalProperties"] = (
            values if isinstance(values, bool) else {"type": values.type}
        )
    return field
