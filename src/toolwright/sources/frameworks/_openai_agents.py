"""Tools of the OpenAI Agents SDK."""

import base64
import binascii
import inspect
import json
from typing import Any

from toolwright.errors import UsageError
from toolwright.messages import BlobPart, Content, TextPart
from toolwright.sources.frameworks._alone import LoneRun, as_text, run_alone
from toolwright.sources.frameworks._foreign import foreign_tool, with_schema
from toolwright.tools import (
    Args,
    Decision,
    Output,
    Tool,
    ToolContext,
    ToolLike,
    as_tool,
    to_output,
    with_approval,
    with_timeout,
)

try:
    from agents import FunctionTool, ToolOutputFileContent, ToolOutputImage, ToolOutputText
    from agents.tool_context import ToolContext as TheirContext
except ImportError as error:
    raise ImportError(
        "Tools of the OpenAI Agents SDK need it: pip install openai-agents"
    ) from error

__all__ = ["from_openai_agents", "to_openai_agents"]


def from_openai_agents(tool: FunctionTool) -> Tool:
    """A function tool of the Agents SDK as ours: our `deps` are its context, approvals are asked."""
    if not isinstance(tool, FunctionTool):
        raise UsageError(f"from_openai_agents takes a FunctionTool; got {tool!r}.")

    async def call(args: Args, ctx: ToolContext) -> Output:
        return _output(await tool.on_invoke_tool(_context(tool, args, ctx), json.dumps(args)))

    fill = with_schema(tool.params_json_schema)
    made = foreign_tool(tool.name, tool.description, tool.params_json_schema, call, fill=fill)
    made = with_timeout(made, tool.timeout_seconds) if tool.timeout_seconds else made
    return with_approval(made, _approval(tool)) if tool.needs_approval else made


def _context(tool: FunctionTool, args: Args, ctx: ToolContext) -> TheirContext[Any]:
    return TheirContext(
        context=ctx.deps,
        tool_name=tool.name,
        tool_call_id=ctx.function_call_id,
        tool_arguments=json.dumps(args),
    )


def _approval(tool: FunctionTool) -> Any:
    async def policy(ours: Tool, args: Args, ctx: ToolContext) -> Decision:
        needed: Any = tool.needs_approval
        if callable(needed):
            needed = needed(_context(tool, args, ctx), args, ctx.function_call_id)
            needed = await needed if inspect.isawaitable(needed) else needed
        return Decision(verdict="ask" if needed else "allow", reason=f"Allow {tool.name!r}?")

    return policy


def _output(value: Any) -> Output:
    items = value if isinstance(value, list) else [value]
    known = (ToolOutputText, ToolOutputImage, ToolOutputFileContent)
    if items and all(isinstance(item, known) for item in items):
        return Output(parts=tuple(_part(item) for item in items))
    return to_output(value)


def _part(item: Any) -> Content:
    if isinstance(item, ToolOutputText):
        return TextPart(item.text)
    if isinstance(item, ToolOutputImage):
        return _from_url(item.image_url or "", "image/*")
    if item.file_data:
        data = base64.b64decode(item.file_data)
        return BlobPart(media_type="application/octet-stream", data=data, name=item.filename)
    return _from_url(item.file_url or "", "application/octet-stream")


def _from_url(url: str, media_type: str) -> Content:
    """An address, or the bytes that a `data:` address carries in itself."""
    if url.startswith("data:"):
        head, _, data = url.partition(",")
        try:
            found = head.removeprefix("data:").partition(";")[0] or media_type
            return BlobPart(media_type=found, data=base64.b64decode(data, validate=True))
        except binascii.Error:
            return TextPart("(a file whose data is not base64)")
    return BlobPart(media_type=media_type, url=url)


def to_openai_agents(tool: ToolLike) -> FunctionTool:
    """Our tool as a function tool of the Agents SDK; the run's context is its `deps`."""
    ours = as_tool(tool)

    async def on_invoke_tool(ctx: TheirContext[Any], arguments: str) -> Any:
        run = LoneRun(framework="openai-agents", deps=ctx.context)
        output = await run_alone(ours, arguments, run, call_id=ctx.tool_call_id)
        images = [blob for blob in output.blobs if blob.media_type.startswith("image/")]
        if output.status != "ok" or not images:
            return as_text(output)
        return [ToolOutputText(text=as_text(output)), *(_image(blob) for blob in images)]

    return FunctionTool(
        name=ours.name,
        description=ours.spec.description_with_examples,
        params_json_schema=ours.spec.parameters,
        on_invoke_tool=on_invoke_tool,
        # Our schemas are validated here, defaults and all; strict mode would make them required.
        strict_json_schema=False,
    )


def _image(blob: BlobPart) -> ToolOutputImage:
    if blob.data is None:
        return ToolOutputImage(image_url=blob.url)
    data = base64.b64encode(blob.data).decode()
    return ToolOutputImage(image_url=f"data:{blob.media_type};base64,{data}")
