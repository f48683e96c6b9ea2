"""Any agent, tool or toolset as an MCP server."""

import uuid
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version as distribution_version
from typing import Any

from toolwright.messages import Pending, TextPart, ToolProgress, ToolResult
from toolwright.serve.mcp._desk import Desk, OnProgress

try:
    import mcp_types as types
    from mcp.server import Server
    from mcp.server.context import ServerRequestContext
    from mcp.server.stdio import stdio_server
    from mcp.shared.exceptions import MCPError
    from mcp_types.version import MODERN_PROTOCOL_VERSIONS
except ImportError as error:
    raise ImportError("MCP needs an extra: pip install 'toolwright[mcp]'") from error

from toolwright.serve.mcp._elicit import answer_from, can_be_asked, question_for
from toolwright.serve.mcp._listing import call_result, listed_tool
from toolwright.tools import Tool

__all__ = ["McpServer"]

_Context = ServerRequestContext[Any, Any]
_QUESTION = "question"
_MOST_TRIES = 5
"""How often one question is asked on an open connection; a program may never answer it right."""
_NO_CALL = "No call waits under this request state."


class McpServer:
    """Serves `target` over MCP: each tool as a tool, an agent as one tool, a runner as the tools of
    its agent, under all its rules.

    What a call asks of a person becomes an elicitation: on the connection itself for clients up to
    2025-11-25, as an `input_required` result for later ones. `settings` are `Runner`'s (artifacts,
    memory, credentials, auth, policy …).
    """

    def __init__(
        self,
        target: Any,
        *,
        name: str = "toolwright",
        version: str | None = None,
        instructions: str | None = None,
        **settings: Any,
    ) -> None:
        self._desk = Desk(target, **settings)
        self.server: Server[Any] = Server(
            name,
            version=version or distribution_version("toolwright"),
            instructions=instructions,
            lifespan=self._lifespan,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
        )

    async def run_stdio(self) -> None:
        """Serve the program that started us, over stdin and stdout, until it leaves."""
        async with stdio_server() as (incoming, outgoing):
            await self.server.run(incoming, outgoing, self.server.create_initialization_options())

    async def close(self) -> None:
        """Let go of the toolsets that are served."""
        await self._desk.close()

    @asynccontextmanager
    async def _lifespan(self, server: Server[Any]) -> AsyncIterator[dict[str, Any]]:
        try:
            yield {}
        finally:
            await self.close()

    async def _list_tools(
        self, ctx: _Context, params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[listed_tool(tool) for tool in await self._desk.tools()])

    async def _call_tool(
        self, ctx: _Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        tool = await self._find(params.name)
        if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
            return await self._answer_or_ask(tool, ctx, params)
        return await self._answer_asking(tool, ctx, params)

    async def _answer_asking(
        self, tool: Tool, ctx: _Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        """Answer the call; the client is asked on the way, while its request stays open."""
        session_id, show = uuid.uuid4().hex, _progress_to(ctx)
        try:
            outcome = await self._desk.call(session_id, tool.name, params.arguments or {}, show)
            asked: Counter[str] = Counter()
            while isinstance(outcome, Pending) and can_be_asked(outcome) and _can_elicit(ctx):
                question = f"{outcome.call_id.partition('~')[0]} {outcome.kind}"
                asked[question] += 1
                if asked[question] > _MOST_TRIES:
                    break
                answer = answer_from(outcome, await _ask(ctx, outcome))
                outcome = await self._desk.answer(session_id, outcome, answer, show)
            return _ended(tool, outcome)
        finally:
            await self._desk.forget(session_id)

    async def _answer_or_ask(
        self, tool: Tool, ctx: _Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        """Answer the call, or say what is missing; the client then calls again with it."""
        show = _progress_to(ctx)
        if params.request_state is None:
            session_id = uuid.uuid4().hex
            outcome = await self._desk.call(session_id, tool.name, params.arguments or {}, show)
        else:
            session_id = _session_in(params.request_state, tool.name)
            outcome = await self._go_on(session_id, params, show)
        if isinstance(outcome, Pending) and can_be_asked(outcome):
            request = types.ElicitRequest(params=question_for(outcome))
            return types.InputRequiredResult(
                input_requests={_QUESTION: request}, request_state=f"{tool.name}:{session_id}"
            )
        await self._desk.forget(session_id)
        return _ended(tool, outcome)

    async def _go_on(
        self, session_id: str, params: types.CallToolRequestParams, show: OnProgress
    ) -> ToolResult | Pending:
        """Take the answer that the client has come back with."""
        pending = await self._desk.waiting(session_id)
        said = (params.input_responses or {}).get(_QUESTION)
        if pending is None:
            raise MCPError(types.INVALID_PARAMS, _NO_CALL)
        if not isinstance(said, types.ElicitResult):
            return pending
        return await self._desk.answer(session_id, pending, answer_from(pending, said), show)

    async def _find(self, name: str) -> Tool:
        for tool in await self._desk.tools():
            if tool.name == name:
                return tool
        raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {name}")


def _session_in(state: str, tool: str) -> str:
    """The session that a request state names; it is only good for the tool it was given out for."""
    name, _, session_id = state.rpartition(":")
    if name != tool or not session_id:
        raise MCPError(types.INVALID_PARAMS, _NO_CALL)
    return session_id


def _progress_to(ctx: _Context) -> OnProgress:
    steps = 0

    async def show(event: ToolProgress) -> None:
        nonlocal steps
        steps += 1
        told = event.data if isinstance(event.data, dict) else {}
        progress, total = told.get("progress"), told.get("total")
        await ctx.session.report_progress(
            float(progress if isinstance(progress, int | float) else steps),
            float(total) if isinstance(total, int | float) else None,
            event.text or None,
        )

    return show


def _can_elicit(ctx: _Context) -> bool:
    capabilities = ctx.session.client_capabilities
    return capabilities is not None and capabilities.elicitation is not None


async def _ask(ctx: _Context, pending: Pending) -> types.ElicitResult:
    question = question_for(pending)
    if isinstance(question, types.ElicitRequestURLParams):
        return await ctx.session.elicit_url(
            question.message, question.url, question.elicitation_id or "", ctx.request_id
        )
    return await ctx.session.elicit_form(
        question.message, question.requested_schema, ctx.request_id
    )


def _ended(tool: Tool, outcome: ToolResult | Pending) -> types.CallToolResult:
    if isinstance(outcome, ToolResult):
        return call_result(tool, outcome)
    why = f"{outcome.name!r} waits for {outcome.kind} from outside ({outcome.hint or 'no hint'})"
    result = ToolResult(
        call_id=outcome.call_id,
        name=outcome.name,
        status="error",
        content=(TextPart(f"{why}, and this client cannot ask for it."),),
    )
    return call_result(tool, result)
