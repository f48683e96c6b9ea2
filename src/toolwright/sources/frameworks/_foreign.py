"""What all tools of other frameworks have in common once they are ours."""

import functools
from collections.abc import Awaitable, Callable
from typing import Any

from toolwright.concurrency import in_user_thread
from toolwright.messages import ToolSpec
from toolwright.tools import Args, Output, Tool, ToolContext, schema_parser, to_output

__all__ = ["Call", "foreign_tool", "in_thread"]

Call = Callable[[Args, ToolContext], Awaitable[Any]]
"""Calls the foreign tool; whatever it returns becomes an output."""


def foreign_tool(name: str, description: str, schema: dict[str, Any], call: Call) -> Tool:
    """A tool with the foreign one's name and schema; its exceptions become error results."""
    parameters = {"type": "object", "properties": {}, **schema}
    parameters.pop("title", None)

    async def run(args: Args, ctx: ToolContext) -> Output:
        return to_output(await call(args, ctx))

    return Tool(
        spec=ToolSpec(name=name, description=description, parameters=parameters),
        parse=schema_parser(name, parameters),
        run=run,
    )


async def in_thread(function: Callable[..., Any], args: Args) -> Any:
    """Call a function that may block; cancelled, nobody waits for its thread."""
    call = functools.partial(function, **args)
    return await in_user_thread(call)
