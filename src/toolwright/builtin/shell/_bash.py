"""`bash`: run a shell command and read what it prints."""

from collections.abc import Callable

from toolwright.backends.executors import Executor, Finished
from toolwright.builtin.shell._limits import QUIET, limits_for
from toolwright.builtin.shell._outputs import MAX_BYTES, OutputFolder
from toolwright.tools import FunctionTool, Output, Tool, ToolContext

__all__ = ["bash_tool"]

_DEFAULT_TIMEOUT = 120.0
_KEPT = MAX_BYTES - 1024
"""Bytes of output that are shown, with room for notes."""
_PROGRESS = 256 * 1024
"""Characters of output that are shown while a command runs; the rest is in its result."""


def bash_tool(executor: Executor, outputs: OutputFolder | None = None) -> Tool:
    """The tool `bash`, on any executor.

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
        finished = await executor.run(
            command,
            env=QUIET,
            limits=limits_for(executor, timeout, _KEPT),
            merge=True,
            on_output=_showing(tool_context),
            spill=folder.new_path(),
        )
        text = folder.shortened(finished.stdout, finished.spilled)
        return Output(
            text=_with_ending(text, finished, timeout) or "(no output)",
            data={"exit_code": finished.exit_code, "ended": finished.ended},
        )

    return FunctionTool(bash, effects="destructive")


def _showing(ctx: ToolContext) -> Callable[[str, str], None]:
    """Show output as it comes, but not without end: whoever watches has only so much room."""
    room = _PROGRESS

    def show(_stream: str, text: str) -> None:
        nonlocal room
        if room > 0:
            ctx.progress(text[:room])
            room -= len(text)

    return show


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
