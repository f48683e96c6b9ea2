"""`bash` and background processes on one executor, closed together."""

import os
from collections.abc import Sequence

from toolwright.backends.executors import Executor
from toolwright.builtin.shell._background import ProcessTools
from toolwright.builtin.shell._bash import bash_tool
from toolwright.builtin.shell._best_executor import BestExecutor
from toolwright.concurrency import close_all
from toolwright.tools import ReadonlyContext, SessionInfo, Tool, ToolFilter, Toolset

__all__ = ["ShellToolset"]


class ShellToolset(Toolset):
    """`bash`, `start_process`, `list_processes`, `read_process` and `stop_process`.

    Commands run on `executor`, by default in the best sandbox that works here, which can write to
    `work_dir` only. Closing the toolset ends
    all its background processes, and closes the executor if it was made here.
    """

    def __init__(
        self,
        work_dir: str | os.PathLike[str] = ".",
        *,
        executor: Executor | None = None,
        tool_filter: ToolFilter = None,
        tool_name_prefix: str | None = None,
    ) -> None:
        super().__init__(tool_filter=tool_filter, tool_name_prefix=tool_name_prefix)
        self._executor: Executor = executor or BestExecutor(work_dir)
        self._is_ours = executor is None
        self._processes = ProcessTools(self._executor)
        self._tools = [bash_tool(self._executor), *self._processes.tools()]

    async def get_tools(self, readonly_context: ReadonlyContext | None = None) -> Sequence[Tool]:
        """The tools, the same for every context."""
        return self._tools

    async def close(self) -> None:
        """End the background processes."""
        executor = [self._executor.close] if self._is_ours else []
        await close_all([*executor, self._processes.stop_all])

    async def end_session(self, session: SessionInfo) -> None:
        """End the background processes of one session."""
        await self._processes.stop_all(session)
