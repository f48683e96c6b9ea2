"""Any agent, tool or toolset as an MCP server."""

import uuid
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from importlib.metadata import version as distribution_version
from typing import Any

from toolwright.errors import UsageError
from toolwright.messages import (
    Pending,
    TextPart,
    ToolProgress,
    ToolResult,
    call_of,
    sendable_text,
)
from toolwright.serve.mcp._desk import Asked, Desk, OnProgress

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
from toolwright.tools import Tool, digest_of

__all__ = ["McpServer"]

_Context = ServerRequestContext[Any, Any]
_QUESTION = "question"
_MOST_TRIES = 5
"""How often one question is asked on an open connection; a program may never answer it right."""
_NO_CALL = "No call waits under this request state."
_NOT_TAKEN = "That answer was to another question and was not taken; this one waits now."


class McpServer:
    """Serves `target` over MCP: each tool as a tool, an agent as one tool, a runner as the tools of
    its agent, under all its rules.

    What a call asks of a person becomes an elicitation: on the connection itself for clients up to
    2025-11-25, as an `input_required` result for later ones. `settings` are `Runner`'s (artifacts,
    memory, credentials, auth …); `policy` and `hooks` come on top of those of a runner.
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
        with _in_words():
            tools = await self._desk.tools()
        return types.ListToolsResult(tools=[listed_tool(tool) for tool in tools])

    async def _call_tool(
        self, ctx: _Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        with _in_words():
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
            while isinstance(outcome, Asked) and _can_be_answered(outcome, ctx):
                pending = outcome.pending
                question = f"{call_of(pending.call_id)} {pending.kind}"
                asked[question] += 1
                if asked[question] > _MOST_TRIES:
                    break
                outcome = await self._take(session_id, pending, await _ask(ctx, outcome), show)
            return _ended(tool, outcome)
        finally:
            await self._desk.forget(session_id)

    async def _answer_or_ask(
        self, tool: Tool, ctx: _Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        """Answer the call, or say what is missing; the client then calls again with it."""
        show, call = _progress_to(ctx), digest_of(tool.name, params.arguments or {})
        if params.request_state is None:
            session_id = uuid.uuid4().hex
            outcome = await self._desk.call(session_id, tool.name, params.arguments or {}, show)
        else:
            session_id, question = _read_state(params.request_state, call)
            outcome = await self._go_on(session_id, question, params, show)
        if isinstance(outcome, Asked) and can_be_asked(outcome.pending):
            request = types.ElicitRequest(params=question_for(outcome.pending, outcome.problem))
            state = f"{session_id}:{call}:{_digest_of_question(outcome.pending)}"
            return types.InputRequiredResult(
                input_requests={_QUESTION: request}, request_state=state
            )
        await self._desk.forget(session_id)
        return _ended(tool, outcome)

    async def _go_on(
        self,
        session_id: str,
        question: str,
        params: types.CallToolRequestParams,
        show: OnProgress,
    ) -> ToolResult | Asked:
        """Take the answer that the client has come back with, if its question still waits."""
        waiting = await self._desk.waiting(session_id)
        if not waiting:
            raise MCPError(types.INVALID_PARAMS, _NO_CALL)
        asked = [pending for pending in waiting if _digest_of_question(pending) == question]
        said = (params.input_responses or {}).get(_QUESTION)
        if not asked:
            return Asked(waiting[0], _NOT_TAKEN)
        if not isinstance(said, types.ElicitResult):
            return Asked(asked[0])
        return await self._take(session_id, asked[0], said, show)

    async def _take(
        self, session_id: str, pending: Pending, said: types.ElicitResult, show: OnProgress
    ) -> ToolResult | Asked:
        """Go on with an answer, or ask again and say what was wrong with it."""
        try:
            value = answer_from(pending, said)
        except UsageError as error:
            return Asked(pending, str(error))
        outcome = await self._desk.answer(session_id, pending, value, show)
        if outcome is not None:
            return outcome
        waiting = await self._desk.waiting(session_id)  # Somebody else has answered this one.
        if not waiting:
            raise MCPError(types.INVALID_PARAMS, _NO_CALL)
        return Asked(waiting[0], _NOT_TAKEN)

    async def _find(self, name: str) -> Tool:
        for tool in await self._desk.tools():
            if tool.name == name:
                return tool
        raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {name}")


@contextmanager
def _in_words() -> Iterator[None]:
    """Say what the developer has to put right; of other errors a client of today is told nothing."""
    try:
        yield
    except UsageError as error:
        raise MCPError(types.INTERNAL_ERROR, sendable_text(str(error))) from error


def _read_state(state: str, call: str) -> tuple[str, str]:
    """The session and the question in a request state, which is good for one call and one question."""
    session_id, _, rest = state.partition(":")
    made, _, question = rest.partition(":")
    if not session_id or not question or made != call:
        raise MCPError(types.INVALID_PARAMS, _NO_CALL)
    return session_id, question


def _digest_of_question(pending: Pending) -> str:
    """Of which call it is, and of all that the client is shown."""
    shown = question_for(pending).model_dump(mode="json")
    return digest_of(pending.call_id, pending.question, shown)


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
            sendable_text(event.text) or None,
        )

    return show


def _can_elicit(ctx: _Context) -> bool:
    capabilities = ctx.session.client_capabilities
    return capabilities is not None and capabilities.elicitation is not None


def _can_be_answered(asked: Asked, ctx: _Context) -> bool:
    return can_be_asked(asked.pending) and _can_elicit(ctx)


async def _ask(ctx: _Context, asked: Asked) -> types.ElicitResult:
    question = question_for(asked.pending, asked.problem)
    if isinstance(question, types.ElicitRequestURLParams):
        return await ctx.session.elicit_url(
            question.message, question.url, question.elicitation_id or "", ctx.request_id
        )
    return await ctx.session.elicit_form(
        question.message, question.requested_schema, ctx.request_id
    )


def _ended(tool: Tool, outcome: ToolResult | Asked) -> types.CallToolResult:
    if isinstance(outcome, ToolResult):
        return call_result(tool, outcome)
    pending = outcome.pending
    why = f"{pending.name!r} waits for {pending.kind} from outside ({pending.hint or 'no hint'})"
    result = ToolResult(
        call_id=pending.call_id,
        name=pending.name,
        status="error",
        content=(TextPart(f"{why}, and this client cannot ask for it."),),
    )
    return call_result(tool, result)
