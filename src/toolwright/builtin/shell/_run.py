"""Run one command for a tool: the same for `bash`, `execute`, `execute_bash` and `ExecuteBashTool`."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from toolwright.backends.executors import Capabilities, Executor, Finished, Limits
from toolwright.errors import ToolError
from toolwright.tools import ToolContext

__all__ = ["QUIET", "described_place", "limits_for", "run_command"]

QUIET = {
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "MANPAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "TERM": "dumb",
    "NO_COLOR": "1",
}
"""Variables that keep programs from paging, prompting and colouring where nobody looks."""
_PROGRESS = 256 * 1024
"""Characters of output that are shown while a command runs; the rest is in its result."""


async def run_command(
    executor: Executor,
    command: str,
    ctx: ToolContext | None,
    *,
    limits: Limits | None = None,
    cwd: str | None = None,
    merge: bool = False,
    spill: Path | None = None,
) -> Finished:
    """Run a command where the executor runs them, and show its output as it comes."""
    if not command.strip():
        raise ToolError("The command is empty; give the one to run.")
    return await executor.run(
        command,
        cwd=cwd,
        env=QUIET,
        limits=limits,
        merge=merge,
        on_output=None if ctx is None else _showing(ctx),
        spill=spill,
    )


def described_place(capabilities: Capabilities) -> str:
    """What the model should know of the place before it tries."""
    if not capabilities.filesystem_confined:
        return "Commands run on this machine without a sandbox."
    walls = "Commands run in a sandbox that can write to the working directory only; use relative paths."
    network = ("There is no network.",) if capabilities.network_confined else ()
    limits = () if capabilities.real_python else capabilities.notes
    return " ".join((walls, *network, *limits))


def limits_for(executor: Executor, timeout: float, output: int) -> Limits:
    """The executor's limits with this time in seconds and this many bytes of output."""
    if timeout <= 0:
        raise ToolError(f"timeout must be more than 0 seconds; got {timeout}.")
    return replace(getattr(executor, "limits", Limits()), timeout=timeout, output=output)


def _showing(ctx: ToolContext) -> Callable[[str, str], None]:
    """Show output as it comes, but not without end: whoever watches has only so much room."""
    room = _PROGRESS

    def show(stream: str, text: str) -> None:
        nonlocal room
        if room > 0:
            ctx.progress(text[:room], {"stream": stream})
            room -= len(text)

    return show
