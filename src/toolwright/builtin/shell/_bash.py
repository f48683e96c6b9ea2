"""`bash`: run a shell command and read what it prints."""

from toolwright.backends.executors import Executor, Finished
from toolwright.builtin.shell._outputs import MAX_BYTES, OutputFolder
from toolwright.builtin.shell._run import described_place, limits_for, run_command
from toolwright.tools import FunctionTool, Output, Tool, ToolContext, with_name

__all__ = ["bash_tool"]

_DEFAULT_TIMEOUT = 120.0
_KEPT = MAX_BYTES - 1024
"""Bytes of output that are shown, with room for notes."""


def bash_tool(executor: Executor, outputs: OutputFolder | None = None) -> Tool:
    """The tool `bash`, on any executor; its description says where that runs commands.

    Output beyond 50 KB or 2000 lines is kept in `outputs`; give the same folder to the tool that
    reads files, so that the model can read it.
    """
    folder = outputs or OutputFolder()

    async def bash(
        command: str, tool_context: ToolContext, timeout: float = _DEFAULT_TIMEOUT
    ) -> Output:
        """Run a shell command in the working directory; stdout and stderr come together.

        It gets no input and no terminal. When its time is up, it and all it started are ended.

        Args:
            command: The command.
            timeout: Seconds after which the command is ended.
        """
        finished = await run_command(
            executor,
            command,
            tool_context,
            limits=limits_for(executor, timeout, _KEPT),
            merge=True,
            spill=folder.new_path(),
        )
        text = folder.shortened(finished.stdout, finished.spilled)
        return Output(
            text=_with_ending(text, finished, timeout) or "(no output)",
            data={"exit_code": finished.exit_code, "ended": finished.ended},
            failed=not finished.ok,
        )

    tool = FunctionTool(bash, effects="destructive")
    place = described_place(executor.capabilities)
    return with_name(tool, description=f"{tool.description} {place}")


def _with_ending(text: str, finished: Finished, timeout: float) -> str:
    """The output, and how the command ended unless it went well."""
    if finished.ok:
        return text
    endings = {
        "exited": f"[exit code {finished.exit_code}]",
        "timeout": f"[timed out after {timeout:g} seconds; the command was ended]",
        "memory": "[out of memory; the command was ended]",
        "processes": "[too many processes; the command was ended]",
        "stopped": "[the command was stopped]",
    }
    return f"{text.rstrip()}\n{endings[finished.ended]}".lstrip("\n")
