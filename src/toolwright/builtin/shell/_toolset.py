"""`bash` and background processes on one executor, closed together."""

import os
from collections.abc import Sequence

from toolwright.backends.executors import Executor, LocalExecutor
from toolwright.builtin.shell._background import ProcessTools
from toolwright.builtin.shell._bash import bash_tool
from toolwright.tools import ReadonlyContext, Tool, ToolFilter, Toolset

__all__ = ["ShellToolset"]


class ShellToolset(Toolset):
    """`bash`, `start_process`, `list_processes`, `read_process` and `stop_process`.

    Commands run on `executor`, by default on this machine in `work_dir`. Closing the toolset ends
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
        self._executor: Executor = executor or LocalExecutor(os.fspath(work_dir))
        self._is_ours = executor is None
        self._processes = ProcessTools(self._executor)
        self._tools = [bash_tool(self._executor), *self._processes.tools()]

    async def get_tools(self, readonly_context: ReadonlyContext | None = None) -> Sequence[Tool]:
        """The tools, the same for every context."""
        return self._tools

    async def close(self) -> None:
        """End the background processes."""
        await self._processes.stop_all()
        if self._is_ours:
            await self._executor.close()
