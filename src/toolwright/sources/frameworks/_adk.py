"""Tools of Google's Agent Development Kit."""

import json
from collections.abc import Callable
from typing import Any

from toolwright.errors import UsageError
from toolwright.sources.frameworks._alone import LoneRun, as_text, run_alone
from toolwright.sources.frameworks._foreign import foreign_tool, with_defaults
from toolwright.tools import (
    Args,
    Output,
    StateTable,
    Tool,
    ToolConfirmation,
    ToolContext,
    ToolLike,
    as_tool,
    to_output,
    with_later_update,
)

try:
    from google.adk.agents.invocation_context import InvocationContext
    from google.adk.events.event_actions import EventActions
    from google.adk.sessions import InMemorySessionService, Session
    from google.adk.tools.base_tool import BaseTool
    from google.adk.tools.function_tool import FunctionTool
    from google.adk.tools.tool_confirmation import ToolConfirmation as TheirConfirmation
    from google.adk.tools.tool_context import ToolContext as TheirContext
    from google.genai import types
except ImportError as error:
    raise ImportError("ADK tools need ADK: pip install google-adk") from error

__all__ = ["from_adk", "to_adk"]

_ASKED_AGAIN = (
    "This call was not finished: a person has approved it, and it asks a second question, {!r}. ADK asks "
    "about a call once and does not show what is asked after that; export a tool that asks for all it "
    "needs in one question."
)


def from_adk(tool: BaseTool | Callable[..., Any]) -> Tool:
    """An ADK tool, or a function for one, as ours.

    Its context has our state, whose changes come back, and our confirmation; what it asks for
    with `request_confirmation` becomes a pending call, and the pending status of a long-running tool
    keeps its call open. ADK services are not behind it.
    """
    theirs = tool if isinstance(tool, BaseTool) else FunctionTool(tool)
    declaration = theirs._get_declaration()
    if declaration is None:
        raise UsageError(f"ADK tool {theirs.name!r} runs inside Gemini and cannot be called.")

    async def call(args: Args, ctx: ToolContext) -> Output:
        actions = EventActions()
        result = await theirs.run_async(args=args, tool_context=_context(ctx, actions))
        return _settle(ctx, actions, result)

    schema = _schema(declaration)
    fill = with_defaults(theirs.func, schema) if isinstance(theirs, FunctionTool) else None
    made = foreign_tool(theirs.name, theirs.description, schema, call, fill=fill)
    return with_later_update(made) if theirs.is_long_running else made


def _schema(declaration: types.FunctionDeclaration) -> dict[str, Any]:
    if declaration.parameters_json_schema is not None:
        return dict(declaration.parameters_json_schema)
    if declaration.parameters is None:
        return {}
    return declaration.parameters.json_schema.model_dump(mode="json", exclude_none=True)


def _context(ctx: ToolContext, actions: EventActions) -> TheirContext:
    session = Session(
        id=ctx.session.id,
        app_name=ctx.session.app_name,
        user_id=ctx.user_id,
        state=dict(ctx.run.table.values),
    )
    invocation = InvocationContext(
        session_service=InMemorySessionService(), invocation_id=ctx.run_id, session=session
    )
    given = ctx.tool_confirmation
    confirmation = (
        TheirConfirmation(hint=given.hint, confirmed=True, payload=given.payload) if given else None
    )
    return TheirContext(
        invocation,
        event_actions=actions,
        function_call_id=ctx.function_call_id,
        tool_confirmation=confirmation,
    )


def _settle(ctx: ToolContext, actions: EventActions, result: Any) -> Output:
    """Take over what the tool did beside its result."""
    for key, value in actions.state_delta.items():
        ctx.state[key] = value
    for asked in actions.requested_tool_confirmations.values():
        return Output.pending(kind="confirmation", hint=asked.hint, payload=asked.payload)
    ctx.actions.skip_summarization = bool(actions.skip_summarization)
    ctx.actions.escalate = bool(actions.escalate)
    if isinstance(result, dict) and set(result) == {"error"}:
        return Output(text=str(result["error"]), status="error")
    return to_output(result)


class _AdkTool(BaseTool):
    """One of our tools, as ADK sees it."""

    def __init__(self, ours: Tool) -> None:
        super().__init__(name=ours.name, description=ours.spec.description_with_examples)
        self._ours = ours

    def _get_declaration(self) -> types.FunctionDeclaration:
        return types.FunctionDeclaration(
            name=self.name,
            description=self.description,
            parameters_json_schema=self._ours.spec.parameters,
        )

    async def run_async(self, *, args: dict[str, Any], tool_context: TheirContext) -> Any:
        run = LoneRun(framework="adk", table=StateTable(tool_context.state.to_dict()))
        before = dict(run.table.values)
        given = tool_context.tool_confirmation
        if given is not None and not given.confirmed:
            return {"error": "A person rejected this call; it was not run."}
        output = await run_alone(
            self._ours,
            json.dumps(args),
            run,
            call_id=tool_context.function_call_id,
            confirmation=ToolConfirmation(hint=given.hint, payload=given.payload)
            if given
            else None,
        )
        for key, value in run.table.values.items():
            if key not in before or before[key] != value:
                tool_context.state[key] = value
        return _answer(output, tool_context)


def _answer(output: Output, tool_context: TheirContext) -> dict[str, Any]:
    request = output.request
    if output.status == "pending" and request is not None and request.kind == "confirmation":
        if tool_context.tool_confirmation is not None:
            return {"error": _ASKED_AGAIN.format(request.hint)}
        tool_context.request_confirmation(hint=request.hint, payload=request.payload)
        tool_context.actions.skip_summarization = True
        return {"error": "This call needs a person's approval."}
    if output.status != "ok":
        return {"error": as_text(output)}
    return {"result": as_text(output)}


def to_adk(tool: ToolLike) -> BaseTool:
    """Our tool as an ADK one: state and confirmation pass both ways."""
    return _AdkTool(as_tool(tool))
