"""The tools `execute_python`, `execute_bash` and `install_packages`, on any sandbox."""

import logging
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from toolwright.backends import Capabilities, Finished, Sandbox
from toolwright.backends.sandboxes import PortableSandbox, open_sandbox
from toolwright.errors import StoreError, ToolError
from toolwright.tools import (
    FunctionTool,
    ReadonlyContext,
    Tool,
    ToolContext,
    Toolset,
    with_name,
)

__all__ = ["SandboxToolset", "open_sandbox_tools", "sandbox_tools"]

logger = logging.getLogger("toolwright")


def sandbox_tools(sandbox: Sandbox) -> list[Tool]:
    """The three tools on a sandbox that someone else opens and closes."""

    async def execute_python(
        code: str, tool_context: ToolContext, packages: list[str] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Run Python in a sandbox; variables stay from call to call.

        Args:
            code: The code; the value of a last expression is returned as well.
            packages: Packages to install first.
        """
        if packages:
            _must(await sandbox.install(packages), f"Could not install {packages}")
        return _python_answer(await sandbox.run_code(code))

    async def execute_bash(command: str, tool_context: ToolContext, cwd: str | None = None) -> str:
        """Run a bash command in a sandbox, over the same files as the Python code.

        Args:
            command: The command.
            cwd: The working directory, relative to the workspace.
        """
        finished = await sandbox.run(
            command,
            cwd=cwd,
            on_output=lambda stream, text: tool_context.progress(text, {"stream": stream}),
        )
        return _bash_answer(finished)

    async def install_packages(packages: list[str]) -> tuple[str, dict[str, Any]]:
        """Install Python packages for later code in the sandbox.

        Args:
            packages: Names, with versions if needed, like "numpy" or "pandas>=2".
        """
        results = [await _installed(sandbox, package) for package in packages]
        lines = [f"{r['package']}: {r['error'] or 'installed'}" for r in results]
        return "\n".join(lines), {"results": results}

    tools = [
        FunctionTool(execute_python, sequential=True),
        FunctionTool(execute_bash),
        FunctionTool(install_packages, sequential=True),
    ]
    note = _note(sandbox.capabilities)
    return [with_name(tool, description=f"{tool.description} {note}".strip()) for tool in tools]


def _note(capabilities: Capabilities) -> str:
    """What the model should know of this sandbox before it tries."""
    network = ("There is no network.",) if capabilities.network_confined else ()
    limits = () if capabilities.real_python else capabilities.notes
    return " ".join((*network, *limits))


class SandboxToolset(Toolset):
    """The three tools on a sandbox of its own, opened when they are first listed.

    `settings` are those of `open_sandbox`. Where no sandbox of the operating system works, the
    portable one is used, unless a setting needs the other. Close it when the agent is done.
    """

    def __init__(self, workspace: str | Path, **settings: Any) -> None:
        super().__init__()
        self._workspace = workspace
        self._settings = settings
        self._sandbox: Sandbox | None = None

    async def get_tools(self, readonly_context: ReadonlyContext | None = None) -> Sequence[Tool]:
        """The tools; opens the sandbox the first time."""
        if self._sandbox is None:
            self._sandbox = await _open(self._workspace, self._settings)
        return sandbox_tools(self._sandbox)

    async def close(self) -> None:
        """Close the sandbox; what ran in it ends."""
        if self._sandbox is not None:
            opened, self._sandbox = self._sandbox, None
            await opened.close()


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
    if not done.ok:
        raise ToolError(f"The command failed with exit code {done.exit_code}.\n{output}".rstrip())
    return output or "The command succeeded and printed nothing."


async def _installed(sandbox: Sandbox, package: str) -> dict[str, Any]:
    try:
        done = await sandbox.install([package])
    except ToolError as error:
        return {"package": package, "success": False, "error": str(error)}
    error = None if done.ok else (done.stderr.strip()[-500:] or f"exit code {done.exit_code}")
    return {"package": package, "success": done.ok, "error": error}


def _must(done: Finished, what: str) -> None:
    if not done.ok:
        raise ToolError(f"{what}: {done.stderr.strip()[-500:] or done.ended}")
