"""Commands that run in the background: start, list, read and stop them."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from toolwright.backends.executors import Executor, Job
from toolwright.builtin.shell._run import QUIET
from toolwright.concurrency import close_all
from toolwright.errors import ToolError
from toolwright.tools import FunctionTool, Output, SessionInfo, Tool, ToolContext

__all__ = ["ProcessTools"]

_MAX_RUNNING = 20
_KEPT = 50
"""Processes of a session that are remembered, ended ones included."""


@dataclass(frozen=True, slots=True)
class _Started:
    job: Job
    command: str
    at: float = field(default_factory=time.monotonic)

    def has_failed(self) -> bool:
        """Whether it has ended, by itself, and not well."""
        ended = self.job.poll()
        return ended is not None and ended.ended != "stopped" and not ended.ok

    def described(self) -> str:
        ended = self.job.poll()
        if ended is None:
            status = f"running for {time.monotonic() - self.at:.0f}s"
        elif ended.ended == "exited":
            status = f"exited with code {ended.exit_code}"
        else:
            status = ended.ended
        return f"{self.job.id}  {status}  {self.command[:200]}"


class ProcessTools:
    """The background processes of each session. They end with the executor, or when stopped."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self._started: dict[SessionInfo, dict[str, _Started]] = {}
        """Of sessions that have started a process."""

    def tools(self) -> list[Tool]:
        """`start_process`, `list_processes`, `read_process` and `stop_process`."""
        return [
            FunctionTool(self.start_process, effects="destructive"),
            FunctionTool(self.list_processes, effects="read"),
            FunctionTool(self.read_process, effects="read"),
            FunctionTool(self.stop_process, effects="destructive", idempotent=True),
        ]

    async def start_process(self, command: str, tool_context: ToolContext) -> str:
        """Start a shell command that goes on in the background, such as a server.

        Args:
            command: The command.
        """
        mine = self._started.setdefault(tool_context.session, {})
        running = [one for one in mine.values() if one.job.poll() is None]
        if len(running) >= _MAX_RUNNING:
            raise ToolError(f"{len(running)} processes are running; stop one with stop_process.")
        job = await self._executor.start(command, env=QUIET)
        if self._started.get(tool_context.session) is not mine:
            await close_all([job.stop])
            raise ToolError("The session ended while the process was started; it was stopped.")
        mine[job.id] = _Started(job, command)
        _forget_oldest(mine)
        return f"Started {job.id}. Read its output with read_process, end it with stop_process."

    async def list_processes(self, tool_context: ToolContext) -> str:
        """List the background processes of this session."""
        mine = self._of(tool_context)
        return "\n".join(one.described() for one in mine.values()) or "No processes."

    async def read_process(self, process_id: str, tool_context: ToolContext) -> Output:
        """Read what a background process has printed since it was last read.

        Args:
            process_id: The id that start_process gave.
        """
        one = self._find(process_id, tool_context)
        text = one.job.read() or "(nothing new)"
        return Output(text=f"{text.rstrip()}\n[{one.described()}]", failed=one.has_failed())

    async def stop_process(self, process_id: str, tool_context: ToolContext) -> Output:
        """End a background process and everything it started.

        Args:
            process_id: The id that start_process gave.
        """
        one = self._find(process_id, tool_context)
        failed = one.has_failed()  # By itself: to be stopped is no failure.
        await one.job.stop()
        text = f"{one.job.read().rstrip()}\n[{one.described()}]".lstrip()
        return Output(text=text, failed=failed)

    async def stop_all(self, session: SessionInfo | None = None) -> None:
        """End and forget the processes of one session, or of all."""
        ended = [session] if session is not None else list(self._started)
        started = [one for key in ended for one in self._started.pop(key, {}).values()]
        await close_all([one.job.stop for one in started])

    def _of(self, ctx: ToolContext) -> Mapping[str, _Started]:
        return self._started.get(ctx.session, {})

    def _find(self, process_id: str, ctx: ToolContext) -> _Started:
        mine = self._of(ctx)
        if process_id not in mine:
            known = ", ".join(mine) or "none"
            raise ToolError(
                f"There is no process {process_id!r} in this session; there is: {known}."
            )
        return mine[process_id]


def _forget_oldest(mine: dict[str, _Started]) -> None:
    """Forget processes that ended long ago."""
    ended = [key for key, one in mine.items() if one.job.poll() is not None]
    for key in ended[: max(0, len(mine) - _KEPT)]:
        del mine[key]
