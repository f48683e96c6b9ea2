"""Functions that may watch, change or answer what an agent does."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from toolwright.messages import ModelMessage
from toolwright.models import ModelRequest
from toolwright.tools import Args, Output, ReadonlyContext, Tool, ToolContext, to_output

__all__ = ["Hooks", "with_hooks"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hooks:
    """Each is optional and async. Returning None changes nothing."""

    before_agent: Callable[[ReadonlyContext], Awaitable[str | None]] | None = None
    """A text answers in the agent's place."""
    after_agent: Callable[[ReadonlyContext, str], Awaitable[str | None]] | None = None
    """A text replaces the final one."""
    before_model: (
        Callable[[ReadonlyContext, ModelRequest], Awaitable[ModelRequest | ModelMessage | None]]
        | None
    ) = None
    """A request is sent instead; a message answers in the model's place."""
    after_model: (
        Callable[[ReadonlyContext, ModelMessage], Awaitable[ModelMessage | None]] | None
    ) = None
    before_tool: Callable[[ToolContext, Tool, Args], Awaitable[Any]] | None = None
    """A dict of the same parameters changes the arguments; an `Output` answers in its place."""
    after_tool: Callable[[ToolContext, Tool, Args, Output], Awaitable[Output | None]] | None = None
    on_model_error: (
        Callable[[ReadonlyContext, Exception], Awaitable[ModelMessage | None]] | None
    ) = None


def with_hooks(tool: Tool, hooks: Hooks) -> Tool:
    """Let the tool hooks see each call of `tool`."""
    before, after = hooks.before_tool, hooks.after_tool
    if before is None and after is None:
        return tool

    async def run(args: Args, ctx: ToolContext) -> Output:
        if before is not None:
            said = await before(ctx, tool, args)
            if isinstance(said, dict):
                # Also in the context: whoever is asked to approve the call must see these.
                args = ctx.arguments = said
            elif said is not None:
                return to_output(said)
        output = await tool.run(args, ctx)
        if after is not None:
            return await after(ctx, tool, args, output) or output
        return output

    return tool.replace(run=run)
