"""The tools `execute_python`, `execute_bash` and `install_packages`, on any sandbox."""

import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from pathlib import Path
from typing import Any

from toolwright.backends import Capabilities, Finished, Sandbox, truncate_tail
from toolwright.backends.sandboxes import PortableSandbox, open_sandbox
from toolwright.builtin.shell import described_place, run_command
from toolwright.concurrency import SessionTable
from toolwright.errors import StoreError, ToolError
from toolwright.tools import (
    FunctionTool,
    ReadonlyContext,
    SessionInfo,
    Tool,
    ToolContext,
    Toolset,
    with_name,
)

__all__ = ["SandboxToolset", "open_sandbox_tools", "sandbox_tools"]

logger = logging.getLogger("toolwright")


Use = Callable[[ToolContext], AbstractAsyncContextManager[Sandbox]]


def sandbox_tools(sandbox: Sandbox) -> list[Tool]:
    """The three tools on a sandbox that someone else opens and closes."""

    return _tools(lambda ctx: nullcontext(sandbox), sandbox.capabilities)


def _tools(use: Use, capabilities: Capabilities) -> list[Tool]:
    """The three tools on whatever sandbox a call may use."""

    async def execute_python(
        code: str, tool_context: ToolContext, packages: list[str] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Run Python in a sandbox; variables stay from call to call.

        Args:
            code: The code; the value of a last expression is returned as well.
            packages: Packages to install first.
        """
        async with use(tool_context) as sandbox:
            if packages:
                _must(await sandbox.install(packages), f"Could not install {packages}")
            return _python_answer(await sandbox.run_code(code))

    async def execute_bash(command: str, tool_context: ToolContext, cwd: str | None = None) -> str:
        """Run a bash command in a sandbox, over the same files as the Python code.

        Args:
            command: The command.
            cwd: The working directory, relative to the workspace.
        """
        async with use(tool_context) as sandbox:
            finished = await run_command(sandbox, command, tool_context, cwd=cwd)
        return _bash_answer(finished)

    async def install_packages(
        packages: list[str], tool_context: ToolContext
    ) -> tuple[str, dict[str, Any]]:
        """Install Python packages for later code in the sandbox.

        Args:
            packages: Names, with versions if needed, like "numpy" or "pandas>=2".
        """
        async with use(tool_context) as sandbox:
            results = [await _installed(sandbox, package) for package in packages]
        lines = [f"{r['package']}: {r['error'] or 'installed'}" for r in results]
        return "\n".join(lines), {"results": results}

    tools = [
        FunctionTool(execute_python, sequential=True, is_failure=lambda a: not a["success"]),
        FunctionTool(execute_bash),
        FunctionTool(
            install_packages,
            sequential=True,
            is_failure=lambda a: not all(result["success"] for result in a["results"]),
        ),
    ]
    note = described_place(capabilities)
    return [with_name(tool, description=f"{tool.description} {note}".strip()) for tool in tools]


class SandboxToolset(Toolset):
    """The three tools on sandboxes of its own: each session has one, over the same directory.

    `settings` are those of `open_sandbox`. Where no sandbox of the operating system works, the
    portable one is used, unless a setting needs the other. A session's sandbox is opened when its
    tools are first listed, and closed when the session ends or is deleted, after `idle` seconds
    without a call, when `most` others were used since, or with the toolset.
    """

    def __init__(
        self,
        workspace: str | Path,
        *,
        shared: bool = False,
        most: int = 16,
        idle: float = 1800.0,
        **settings: Any,
    ) -> None:
        """`shared`: one sandbox for all sessions, which then see each other's variables."""
        super().__init__()
        self._workspace = workspace
        self._settings = settings
        self._shared = shared
        self._sandboxes = SessionTable(self._open, most=most, idle=idle)

    async def get_tools(self, readonly_context: ReadonlyContext | None = None) -> Sequence[Tool]:
        """The tools; opens the sandbox of the session the first time."""
        async with self._sandboxes.use(self._key(readonly_context)) as sandbox:
            return _tools(self._use, sandbox.capabilities)

    async def close(self) -> None:
        """Close the sandboxes; what ran in them ends."""
        await self._sandboxes.close()

    async def end_session(self, session: SessionInfo) -> None:
        """Close the sandbox of one session."""
        if not self._shared:
            await self._sandboxes.drop(session)

    async def _open(self) -> Sandbox:
        return await _open(self._workspace, self._settings)

    def _use(self, ctx: ToolContext) -> AbstractAsyncContextManager[Sandbox]:
        return self._sandboxes.use(self._key(ctx))

    def _key(self, ctx: ReadonlyContext | None) -> SessionInfo | None:
        return None if self._shared or ctx is None else ctx.session


async def open_sandbox_tools(
    workspace: str | Path, **settings: Any
) -> tuple[list[Tool], Callable[[], Awaitable[None]]]:
    """Open a sandbox; returns the three tools and what closes it."""
    sandbox = await _open(workspace, settings)
    return sandbox_tools(sandbox), sandbox.close


async def _open(workspace: str | Path, settings: dict[str, Any]) -> Sandbox:
    try:
        return await open_sandbox(workspace, **settings)
    except StoreError as error:
        portable = {k: v for k, v in settings.items() if k in ("env", "allow_hosts", "limits")}
        if portable.keys() != settings.keys():
            raise
        logger.warning("%s The portable sandbox is used instead.", error)
        return await PortableSandbox.open(workspace, **portable)


def _python_answer(done: Finished) -> tuple[str, dict[str, Any]]:
    answer = {
        "success": done.ok,
        "stdout": done.stdout,
        "stderr": "" if not done.ok else done.stderr,
        "result": done.value,
        "error": None if done.ok else (done.stderr.strip() or f"The code ended: {done.ended}."),
    }
    named = (
        ("Output", answer["stdout"]),
        ("Stderr", answer["stderr"]),
        ("Result", answer["result"]),
        ("Error", answer["error"]),
    )
    text = "\n".join(f"{name}:\n{value}" for name, value in named if value)
    return text or "The code ran and printed nothing.", answer


def _bash_answer(done: Finished) -> str:
    output = "\n".join(text.rstrip("\n") for text in (done.stdout, done.stderr) if text)
    if done.timed_out:
        raise ToolError(f"The command took too long and was killed.\n{output}".rstrip())
    if done.ended == "stopped":
        raise ToolError(f"The sandbox was closed, which stopped the command.\n{output}".rstrip())
    if not done.ok:
        raise ToolError(f"The command failed with exit code {done.exit_code}.\n{output}".rstrip())
    return output or "The command succeeded and printed nothing."


async def _installed(sandbox: Sandbox, package: str) -> dict[str, Any]:
    try:
        done = await sandbox.install([package])
    except ToolError as error:
        return {"package": package, "success": False, "error": str(error)}
    error = None if done.ok else (_end_of(done.stderr) or f"exit code {done.exit_code}")
    return {"package": package, "success": done.ok, "error": error}


def _must(done: Finished, what: str) -> None:
    if not done.ok:
        raise ToolError(f"{what}: {_end_of(done.stderr) or done.ended}")


def _end_of(text: str) -> str:
    """The last lines, where programs say what went wrong."""
    return truncate_tail(text.strip(), 500).text
