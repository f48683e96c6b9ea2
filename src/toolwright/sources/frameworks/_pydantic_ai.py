"""pydantic-ai tools."""

import inspect
import json
from collections.abc import Callable
from typing import Any, cast

from pydantic_core import SchemaValidator

from toolwright.messages import BlobPart, TextPart
from toolwright.sources.frameworks._alone import LoneRun, as_text, run_alone
from toolwright.sources.frameworks._foreign import defaults_of, foreign_tool
from toolwright.tools import (
    Args,
    Output,
    ToolConfirmation,
    ToolContext,
    ToolLike,
    args_parser,
    as_tool,
    to_output,
    with_confirmation,
    with_timeout,
)
from toolwright.tools import Tool as OurTool

try:
    from pydantic_ai import (
        ApprovalRequired,
        BinaryContent,
        CallDeferred,
        ModelRetry,
        RunContext,
        RunUsage,
        Tool,
        ToolReturn,
    )
    from pydantic_ai.messages import ToolCallPart
    from pydantic_ai.models.test import TestModel
except ImportError as error:
    raise ImportError("pydantic-ai tools need pydantic-ai: pip install pydantic-ai-slim") from error

__all__ = ["from_pydantic_ai", "to_pydantic_ai"]

_HOW_TO_TELL = (
    "Give the metadata of the requests back with the approvals: "
    "DeferredToolResults(approvals=…, metadata=requests.metadata)."
)


def from_pydantic_ai(tool: Tool[Any] | Callable[..., Any]) -> OurTool:
    """A pydantic-ai tool, or a function for one, as ours.

    Its `RunContext` has our `deps`, the call id and whether it was approved; there is no model in
    it. Approvals and deferred results become pending calls, `ModelRetry` an error result.
    """
    theirs = tool if isinstance(tool, Tool) else Tool(tool)
    schema = theirs.function_schema

    async def call(args: Args, ctx: ToolContext) -> Output:
        try:
            return _output(await schema.call(args, _context(ctx, theirs)))
        except ModelRetry as retry:
            return Output(text=retry.message, status="error")
        except ApprovalRequired as needed:
            return Output.pending(kind="confirmation", payload=needed.metadata)
        except CallDeferred as deferred:
            return Output.pending(kind="result", payload=deferred.metadata)

    parameters, parse = _parameters(theirs), _parser(theirs)
    made = foreign_tool(theirs.name, theirs.description or "", parameters, call, parse=parse)
    made = made.replace(sequential=theirs.sequential)
    made = with_timeout(made, theirs.timeout) if theirs.timeout else made
    return with_confirmation(made, theirs.requires_approval)


def _parameters(theirs: Tool[Any]) -> dict[str, Any]:
    """Its schema; a single model, whose fields pydantic-ai shows in its place, has its name again."""
    schema, only = theirs.function_schema.json_schema, theirs.function_schema.single_arg_name
    if only is None:
        return schema
    inner = {key: value for key, value in schema.items() if key != "$defs"}
    shared = {"$defs": schema["$defs"]} if "$defs" in schema else {}
    properties = {only: inner}
    return {
        "type": "object", "properties": properties, "required": [only],
        "additionalProperties": False, **shared,
    }  # fmt: skip


def _parser(theirs: Tool[Any]) -> Callable[[str], Args] | None:
    """Its own validation, once: what comes of it is shown, judged and given to the function."""
    schema = theirs.function_schema
    if schema.validator.title == "any":  # Of a tool that has a schema and no types.
        return None
    parameters = inspect.signature(schema.function).parameters
    validator = cast(SchemaValidator, _Validator(theirs))
    return args_parser(theirs.name, validator, list(parameters), defaults_of(schema.function))


class _Validator:
    """Takes a single model both in its name and without."""

    def __init__(self, theirs: Tool[Any]) -> None:
        self._schema = theirs.function_schema

    def validate_json(self, text: str) -> Args:
        """Arguments by the names of the function's parameters, or a `ValidationError`."""
        only = self._schema.single_arg_name
        try:
            given = None if only is None else json.loads(text)
        except ValueError:  # The validator says what is wrong with it.
            given = None
        if isinstance(given, dict) and list(given) == [only]:
            text = json.dumps(given[only])
        return self._schema.validator.validate_json(text)  # type: ignore[no-any-return]


def _context(ctx: ToolContext, theirs: Tool[Any]) -> RunContext[Any]:
    return RunContext(
        deps=ctx.deps,
        model=TestModel(),
        usage=RunUsage(),
        tool_call_id=ctx.function_call_id,
        tool_name=ctx.call.name,
        run_id=ctx.run_id,
        # One that requires approval never runs without; else only a yes to its own question counts.
        tool_call_approved=theirs.requires_approval or ctx.tool_confirmation is not None,
    )


def _output(value: Any) -> Output:
    if isinstance(value, ToolReturn):
        output = _output(value.return_value)
        more = _parts(value.content)
        return Output(text=output.text, parts=(*output.parts, *more), data=value.metadata)
    if isinstance(value, BinaryContent):
        return Output(parts=tuple(_parts([value])))
    return to_output(value)


def _parts(content: Any) -> list[TextPart | BlobPart]:
    if content is None:
        return []
    if isinstance(content, str):
        return [TextPart(content)]
    return [
        BlobPart(media_type=item.media_type, data=item.data)
        if isinstance(item, BinaryContent)
        else TextPart(str(item))
        for item in content
    ]


def to_pydantic_ai(tool: ToolLike) -> Tool[Any]:
    """Our tool as a pydantic-ai one: `deps` reach it, and what it asks becomes an approval."""
    ours = as_tool(tool)

    async def function(ctx: RunContext[Any], **arguments: Any) -> Any:
        output = await run_alone(
            ours,
            json.dumps(arguments),
            LoneRun(framework="pydantic-ai", deps=ctx.deps, how_to_tell=_HOW_TO_TELL),
            call_id=ctx.tool_call_id,
            confirmation=ToolConfirmation() if ctx.tool_call_approved else None,
            answers=_answered(ctx.tool_call_metadata),
            shown=_shown(ctx) if ctx.tool_call_approved else None,
        )
        request = output.request
        if output.status == "pending" and request and request.kind == "confirmation":
            raise ApprovalRequired(
                metadata={"hint": request.hint, "answers": request.question.split()}
            )
        if output.status != "ok":
            raise ModelRetry(as_text(output))
        return _returned(output)

    return Tool.from_schema(
        function,
        name=ours.name,
        description=ours.spec.description_with_examples,
        json_schema=ours.spec.parameters,
        takes_ctx=True,
        sequential=ours.sequential,
    )


def _answered(metadata: Any) -> list[str]:
    """What an approval answers, from the metadata of its request; empty when it came without."""
    found = metadata.get("answers") if isinstance(metadata, dict) else None
    return [str(who) for who in found] if isinstance(found, list) else []


def _shown(ctx: RunContext[Any]) -> str:
    """The arguments of the model's call, which an approval can change; empty if there is no such call."""
    parts = [part for message in ctx.messages for part in message.parts]
    calls = [part for part in parts if isinstance(part, ToolCallPart)]
    mine = [call for call in calls if call.tool_call_id == ctx.tool_call_id]
    return mine[-1].args_as_json_str() if mine else ""


def _returned(output: Output) -> Any:
    blobs = [
        BinaryContent(data=blob.data, media_type=blob.media_type)
        for blob in output.blobs
        if blob.data is not None
    ]
    return ToolReturn(as_text(output), content=blobs or None, metadata=output.data)
