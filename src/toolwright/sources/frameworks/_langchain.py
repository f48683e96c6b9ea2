"""LangChain tools."""

import json
from typing import Any

from toolwright.errors import UsageError
from toolwright.messages import Content, TextPart
from toolwright.sources.frameworks._alone import LoneRun, as_text, run_alone, run_blocking
from toolwright.sources.frameworks._foreign import foreign_tool, with_model
from toolwright.tools import Args, Output, Tool, ToolContext, ToolLike, as_tool

try:
    from langchain_core.messages import ToolMessage
    from langchain_core.tools import BaseTool, StructuredTool, ToolException
except ImportError as error:
    raise ImportError("LangChain tools need LangChain: pip install langchain-core") from error

__all__ = ["from_langchain", "to_langchain"]


def from_langchain(tool: BaseTool) -> Tool:
    """A LangChain tool as ours: its schema, async if it is, artifacts as data, errors as errors.

    It finds the session and the user in its config, as `thread_id` and `user_id`.
    """
    if not isinstance(tool, BaseTool):
        raise UsageError(f"from_langchain takes a LangChain tool; got {tool!r}.")

    async def call(args: Args, ctx: ToolContext) -> Output:
        request = {"type": "tool_call", "id": ctx.function_call_id, "name": tool.name, "args": args}
        config = {"configurable": {"thread_id": ctx.session.id, "user_id": ctx.user_id}}
        message = await tool.ainvoke(request, config)  # type: ignore[arg-type]
        return _output(message)

    fill = with_model(tool.name, tool.tool_call_schema)
    return foreign_tool(tool.name, tool.description, _schema(tool), call, fill=fill)


def _schema(tool: BaseTool) -> dict[str, Any]:
    """The parameters a model may set: without those that LangChain injects."""
    schema = tool.tool_call_schema
    return schema if isinstance(schema, dict) else schema.model_json_schema()  # type: ignore[union-attr]


def _output(message: Any) -> Output:
    if not isinstance(message, ToolMessage):
        return Output(text=str(message))
    status = "error" if message.status == "error" else "ok"
    if isinstance(message.content, str):
        return Output(text=message.content, data=message.artifact, status=status)
    parts = tuple(_part(block) for block in message.content)
    return Output(parts=parts, data=message.artifact, status=status)


def _part(block: Any) -> Content:
    if isinstance(block, str):
        return TextPart(block)
    return TextPart(block["text"] if block.get("type") == "text" else json.dumps(block))


def to_langchain(tool: ToolLike) -> BaseTool:
    """Our tool as a LangChain one, for sync and async agents; its data is the artifact."""
    ours = as_tool(tool)

    async def coroutine(**arguments: Any) -> tuple[str, Any]:
        output = await run_alone(ours, json.dumps(arguments), LoneRun(framework="langchain"))
        if output.status != "ok":
            raise ToolException(as_text(output))
        return as_text(output), output.data

    def func(**arguments: Any) -> tuple[str, Any]:
        return run_blocking(lambda: coroutine(**arguments))

    return StructuredTool(
        name=ours.name,
        description=ours.spec.description_with_examples or ours.name,
        args_schema=ours.spec.parameters,
        func=func,
        coroutine=coroutine,
        response_format="content_and_artifact",
        handle_tool_error=True,
    )
