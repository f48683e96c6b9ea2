"""A list of things to do that the agent keeps in the session's state."""

from typing import Any, Literal

from typing_extensions import TypedDict

from toolwright.tools import Tool, ToolContext, tool

__all__ = ["Todo", "read_todos", "todo_tools", "write_todos"]


class Todo(TypedDict):
    """One thing to do."""

    content: str
    status: Literal["pending", "in_progress", "completed"]


@tool(idempotent=True)
async def write_todos(todos: list[Todo], tool_context: ToolContext) -> dict[str, Any]:
    """Replace the todo list. Use it to plan work of several steps and to mark progress.

    Args:
        todos: The whole list, in order; each item says what to do and how far it is.
    """
    tool_context.state[todos_key(tool_context.path)] = todos
    return {"status": "success", "count": len(todos)}


@tool(effects="read", idempotent=True)
async def read_todos(tool_context: ToolContext) -> dict[str, Any]:
    """Read the current todo list."""
    return {"todos": tool_context.state.get(todos_key(tool_context.path), [])}


def todos_key(path: str) -> str:
    """The state key of a todo list: each agent that runs inside a call has one of its own."""
    return f"todos:{path}" if path else "todos"


def todo_tools() -> list[Tool]:
    """`write_todos` and `read_todos`, which keep their list in `state["todos"]`."""
    return [write_todos, read_todos]
