"""Start the reads of a reply while the model still writes it."""

import anyio
from anyio.abc import TaskGroup

from toolwright.agent._gate import FUNCTION, standing_decisions
from toolwright.agent._pins import change_of
from toolwright.agent._run import Run
from toolwright.agent._toolbox import Toolbox, real_call
from toolwright.messages import StartedEarly, ToolCall
from toolwright.models import Delta
from toolwright.tools import Args, Output, Tool, ToolContext

__all__ = ["EarlyCalls"]

_LONGEST = 1_024
"""Letters of arguments that are read at once, where a schema from outside says how."""


class EarlyCall:
    """One call that was started early. Called as a tool's handler, it gives what that came to."""

    def __init__(self, call: ToolCall, ctx: ToolContext) -> None:
        self.call = call
        self.ctx = ctx
        self.began = False
        self.is_unwanted = False
        self._done = anyio.Event()
        self._output: Output | None = None
        self._error: BaseException | None = None

    async def __call__(self, args: Args, ctx: ToolContext) -> Output:
        """The output, or what the tool raised."""
        await self._done.wait()
        if self._error is not None:
            raise self._error
        assert self._output is not None
        return self._output

    async def run(self, run: Run, tool: Tool) -> None:
        """Run it if nobody on its path has a word to say; else it waits for its turn like any."""
        ctx = self.ctx
        try:
            ctx.parameters = tool.spec.parameters
            ctx.arguments = tool.parse(self.call.arguments)
            if not await _is_allowed(run, tool, ctx) or self.is_unwanted:
                return
        except Exception:  # noqa: BLE001 - what is wrong with it is told when its turn comes
            return
        self.began, ctx.asker = True, FUNCTION
        run.emit(StartedEarly, call=self.call)
        if run.log.store is not None:
            await run.log.flush()
        try:
            self._output = await tool.run(ctx.arguments, ctx)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - raised again where it is answered
            self._error = error
        self._done.set()


class EarlyCalls:
    """Those of one reply. They end with the group that they are started in."""

    def __init__(self, run: Run, group: TaskGroup) -> None:
        self._run = run
        self._group = group
        self._calls: dict[int, EarlyCall] = {}
        self._is_open = not _has_call_limit(run)

    def hear(self, delta: Delta) -> None:
        """Show a piece of the reply to whoever watches; a whole call is started, if it may be."""
        if delta.call is None:
            if self._run.log.listeners:
                self._run.show_delta(delta)
        elif self._is_open and self._run.box is not None:
            self._start(delta.index, delta.call, self._run.box)

    def bind(self, calls: tuple[ToolCall, ...]) -> None:
        """Let the calls of the whole reply have what was started for them; the rest is dropped."""
        self._is_open = False
        for index, early in self._calls.items():
            if early.began and early.call in calls[index : index + 1]:
                self._run.record(self._run.path, early.call).early = early
            else:
                early.is_unwanted = True

    def _start(self, index: int, written: ToolCall, box: Toolbox) -> None:
        call = real_call(written) if box.searches else written
        tool = box.tools.get(call.name)
        if tool is None:
            return
        # What comes after a tool that runs alone has to wait for it.
        if tool.sequential or len(self._calls) >= self._run.shared.meter.limits.concurrency:
            self._is_open = False
        elif _may_start(tool, call):
            early = EarlyCall(
                call, ToolContext(self._run, call, self._run.path, node=self._run.node)
            )
            self._calls[index] = early
            self._group.start_soon(early.run, self._run, tool)


def _may_start(tool: Tool, call: ToolCall) -> bool:
    """Only what changes nothing can be dropped."""
    is_read = tool.effects == "read" and not tool.placeholder and not tool.is_long_running
    return is_read and not (tool.source and len(call.arguments) > _LONGEST)


async def _is_allowed(run: Run, tool: Tool, ctx: ToolContext) -> bool:
    if tool.is_enabled is not None and not tool.is_enabled(run.readonly):
        return False
    if tool.source and change_of(run, tool) is not None:
        return False
    said = await standing_decisions(run, tool, ctx)
    return ctx.requested is None and all(one.verdict == "allow" for one in said)


def _has_call_limit(run: Run) -> bool:
    """Whether calls are counted: who is to be told that there are none left is told in order."""
    meter = run.meter
    while meter is not None:
        if meter.limits.tool_calls is not None:
            return True
        meter = meter.outer
    return False
