"""Functions from tool to tool: another name, a time limit, another try, what counts as a failure."""

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import anyio

from toolwright.errors import ToolError, UsageError
from toolwright.messages import Trust
from toolwright.tools._arguments import Args
from toolwright.tools._context import ToolContext
from toolwright.tools._copies import copied
from toolwright.tools._tool import Output, Tool

__all__ = ["with_failure", "with_name", "with_retries", "with_timeout", "with_trust"]


def with_name(tool: Tool, name: str | None = None, description: str | None = None) -> Tool:
    """The same tool under another name or description."""
    said = tool.description if description is None else description
    return tool.replace(spec=replace(tool.spec, name=name or tool.name, description=said))


def with_trust(tool: Tool, trust: Trust) -> Tool:
    """The same tool, whose answers are taken for the program's own, or for text that anybody wrote."""
    return tool if tool.trust == trust else tool.replace(trust=trust)


def with_failure(tool: Tool, is_failure: Callable[[Any], bool]) -> Tool:
    """Make a call an error when `is_failure` says so of the value it returned; that stays whole."""

    async def run(args: Args, ctx: ToolContext) -> Output:
        output = await tool.run(args, ctx)
        return replace(output, failed=output.status == "ok" and is_failure(output.value))

    return tool.replace(run=run)


def with_timeout(tool: Tool, seconds: float) -> Tool:
    """End a call that takes longer than `seconds` with an error the model is told."""
    if not seconds > 0:  # which NaN is not either
        raise UsageError(f"The timeout of tool {tool.name!r} must be positive; got {seconds!r}.")

    async def run(args: Args, ctx: ToolContext) -> Output:
        with anyio.move_on_after(seconds) as scope:
            return await tool.run(args, ctx)
        if scope.cancelled_caught:
            raise ToolError(
                f"{tool.name!r} did not finish within {seconds:g} s{_fate(ctx)}.",
                outcome_unknown=ctx.was_tried or ctx.abandoned != "never started",
            )
        raise AssertionError("a scope ends by returning or by cancelling")

    return tool.replace(run=run)


def _fate(ctx: ToolContext) -> str:
    """What became of a call that took too long; a thread cannot be stopped."""
    match ctx.abandoned:
        case "running":
            return (
                ". It cannot be stopped: it is still running and may yet take effect. "
                "Check before you call it again"
            )
        case "never started" if ctx.was_tried:
            return (
                " because other calls kept all threads busy. It had failed before, and was to be tried "
                "again; what it did until then stands"
            )
        case "never started":
            return " because other calls kept all threads busy; it was not run"
        case _:
            return " and was stopped"


def with_retries(tool: Tool, retries: int, *, backoff: float = 0.5, longest: float = 30.0) -> Tool:
    """Run again, up to `retries` times, when the tool breaks; a `ToolError` is an answer, not a break.

    Each attempt gets the arguments as they were approved, whatever an earlier one has done to them.
    Waits `backoff`, twice that, and so on with some jitter, but never longer than `longest`.
    """
    if retries < 0:
        raise UsageError(f"The retries of tool {tool.name!r} cannot be negative; got {retries!r}.")

    async def run(args: Args, ctx: ToolContext) -> Output:
        for attempt in range(retries):
            try:
                return await tool.run(copied(args), ctx)
            except ToolError:
                raise
            except Exception as error:  # noqa: BLE001 - whatever broke, the last attempt reports it
                ctx.was_tried = True
                ctx.progress(f"attempt {attempt + 1} failed: {type(error).__name__}")
                pause = min(longest, backoff * 2**attempt)
                await anyio.sleep(pause * random.uniform(0.5, 1.0))
        return await tool.run(args, ctx)

    return tool.replace(run=run)
