"""Function tools whose answer comes later: deferred and long-running ones."""

import dataclasses
import re
from collections.abc import Callable
from typing import Any, overload

from pydantic import BaseModel

from toolwright._settings import explained
from toolwright.errors import UsageError
from toolwright.messages import PendingRequest, jsonable
from toolwright.tools._arguments import Args
from toolwright.tools._context import ToolContext
from toolwright.tools._function import FunctionTool, P, R
from toolwright.tools._tool import Output, Tool
from toolwright.tools._wrappers import with_name

__all__ = ["LongRunningFunctionTool", "deferred_tool", "with_deferral", "with_later_update"]

LONG_RUNNING_NOTE = (
    "\n\n[LONG RUNNING TOOL] It may answer with a pending status first. "
    "Do not call it again while it is pending; an update follows."
)
_STILL_PENDING = ("pending", "running", "inprogress", "queued")


def with_deferral(tool: Tool, timeout: float | None = None) -> Tool:
    """Run the tool, then wait for `complete_deferred_tool` (or `runner.answer`) to give its result.

    The call can be answered from the moment it starts: what the function sets off may be quicker
    than the function itself.
    """
    request = PendingRequest(kind="result", timeout=timeout)

    async def run(args: Args, ctx: ToolContext) -> Output:
        await ctx.run.open_pending(ctx, request)
        output = await tool.run(args, ctx)
        if output.status != "ok":
            return output
        return Output(status="pending", request=request, data=output.data)

    return tool.replace(run=run)


@overload
def deferred_tool(func: Callable[P, R], /) -> FunctionTool[P, R]: ...
@overload
def deferred_tool(
    timeout: float | None = None, **settings: Any
) -> Callable[[Callable[P, R]], FunctionTool[P, R]]: ...
@explained(rest=FunctionTool)
def deferred_tool(timeout: float | Callable[..., Any] | None = None, **settings: Any) -> Any:
    """Make a tool whose function only sets something off; its result is brought from outside.

    `timeout` is how many seconds the outside has; then the model is told that nobody answered.
    Without it, also as plain `@deferred_tool`, it has for ever. The other settings are those of `tool`.
    """
    if callable(timeout):
        return _DeferredFunctionTool(timeout, **settings)
    if timeout is not None and not timeout > 0:
        raise UsageError(f"The timeout of a deferred tool must be positive; got {timeout!r}.")

    return lambda func: _DeferredFunctionTool(func, timeout=timeout, **settings)


class _DeferredFunctionTool(FunctionTool[P, R]):
    is_long_running = True

    def __init__(
        self, func: Callable[P, R], *, timeout: float | None = None, **settings: Any
    ) -> None:
        super().__init__(func, **settings)
        self._become(with_deferral(self.replace(), timeout))


class LongRunningFunctionTool(FunctionTool[P, R]):
    """A tool that answers at once with a pending status, and whose end reaches the model later.

    When the function returns `{"status": "pending", …}` the model reads that now, and the call can
    be answered later; the answer reaches the conversation as an update.
    """

    is_long_running = True
    _note = LONG_RUNNING_NOTE
    _promises = True
    """Whether its function may tell the outside where to bring the result."""

    def __init__(
        self, func: Callable[P, R], *, timeout: float | None = None, **settings: Any
    ) -> None:
        super().__init__(func, **settings)
        self._become(with_later_update(self, timeout, note=self._note, promises=self._promises))


def with_later_update(
    tool: Tool,
    timeout: float | None = None,
    *,
    note: str = LONG_RUNNING_NOTE,
    promises: bool = True,
) -> Tool:
    """A tool that may answer with a pending status; its end reaches the conversation as an update."""
    named = with_name(tool, description=tool.description + note)

    async def run(args: Args, ctx: ToolContext) -> Output:
        if promises:
            ctx.promises_result = True
            await ctx.run.flush()  # Whoever repeats it after a crash must know that it had begun.
        output = await named.run(args, ctx)
        value = _plain(output.value)
        if output.status != "ok" or output.failed or not _is_pending(value):
            return output
        request = PendingRequest(kind="result", payload=value, timeout=timeout, blocking=False)
        return Output(text=output.text, data=output.data, request=request)

    return named.replace(run=run)


def _plain(value: Any) -> Any:
    """A model or a dataclass as the dict that the model reads, and enums as their values."""
    has_fields = isinstance(value, (dict, BaseModel)) or dataclasses.is_dataclass(value)
    return jsonable(value) if has_fields else value


def _is_pending(value: Any) -> bool:
    status = value.get("status") if isinstance(value, dict) else None
    return isinstance(status, str) and _word(status) in _STILL_PENDING


def _word(status: str) -> str:
    """A status as it is listed here: services write `IN_PROGRESS`, `In progress` and `inProgress`."""
    return re.sub(r"[\s_-]+", "", status).lower()
