"""An MCP server that asks how many are coming before it books a table."""

from typing import Any

import anyio

from toolwright.messages import Given
from toolwright.serve.mcp import McpServer
from toolwright.tools import Output, ToolContext, tool

GUESTS = {"type": "object", "properties": {"guests": {"type": "integer"}}, "required": ["guests"]}


@tool
def book_table(restaurant: str, tool_context: ToolContext) -> Any:
    """Book a table."""
    for _, answer in tool_context.answers:
        assert isinstance(answer, Given)
        return f"{restaurant}: a table for {answer.value['guests']}."
    return Output.pending(kind="input", hint="How many of you?", schema=GUESTS, rerun=True)


if __name__ == "__main__":
    anyio.run(McpServer([book_table]).run_stdio)
