"""`execute`: run a shell command and answer with a dict, as deep agents expect."""

import os
from collections.abc import Coroutine
from typing import Any

from toolwright.backends.executors import Executor, Finished, LocalExecutor
from toolwright.builtin.shell._run import described_place, limits_for, run_command
from toolwright.tools import FunctionTool, MaxOutput

__all__ = ["create_local_execute_tool"]

_TIMEOUT = 120.0
_MAX_OUTPUT = 100_000
_AS_JSON = MaxOutput(bytes=_MAX_OUTPUT * 3)
"""Above the tool's own limit, so that its answer is never cut twice."""


def create_local_execute_tool(
    executor: Executor | None = None,
    *,
    work_dir: str | os.PathLike[str] = ".",
    timeout: float = _TIMEOUT,
    max_output: int = _MAX_OUTPUT,
) -> FunctionTool[..., Coroutine[Any, Any, dict[str, Any]]]:
    """The tool `execute`, by default on this machine in `work_dir`, which is not a sandbox.

    It can also be called in Python: `await create_local_execute_tool()("ls")`.

    Args:
        executor: Where commands run instead.
        work_dir: The directory that commands start in, on this machine.
        timeout: Seconds after which a command is ended.
        max_output: Bytes of output that are kept.
    """
    runs_on: Executor = executor or LocalExecutor(os.fspath(work_dir))
    limits = limits_for(runs_on, timeout, max_output)

    async def execute(command: str) -> dict[str, Any]:
        """Run a shell command and return its output.

        Args:
            command: The shell command to run.
        """
        finished = await run_command(runs_on, command, None, limits=limits, merge=True)
        return _answer(finished, timeout)

    description = (
        f"Run a shell command and return its output. {described_place(runs_on.capabilities)}"
    )
    return FunctionTool(
        execute,
        description=description,
        effects="destructive",
        max_output=_AS_JSON,
        is_failure=lambda answer: answer["status"] == "error",
    )


def _answer(finished: Finished, timeout: float) -> dict[str, Any]:
    output, exit_code = finished.stdout, finished.exit_code
    if finished.timed_out:
        output = f"{output.rstrip()}\nCommand timed out after {float(timeout)}s".lstrip()
        exit_code = -1
    return {
        "status": "success" if finished.ok else "error",
        "output": output,
        "exit_code": exit_code,
        "truncated": finished.truncated,
    }
