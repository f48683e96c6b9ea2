"""An MCP server that asks how many are coming before it books a table."""

from typing import Any

import anyio

from toolwright.serve.mcp import McpServer
from toolwright.tools import Output, ToolContext, tool

GUESTS = {"type": "object", "properties": {"guests": {"type": "integer"}}, "required": ["guests"]}


@tool
def book_table(restaurant: str, tool_context: ToolContext) -> Any:
    """Book a table."""
    if tool_context.tool_confirmation is None:
        return Output.pending(kind="confirmation", hint="How many of you?", schema=GUESTS)
    return f"{restaurant}: a table for {tool_context.tool_confirmation.payload['guests']}."


if __name__ == "__main__":
    anyio.run(McpServer([book_table]).run_stdio)
