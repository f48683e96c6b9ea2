"""Tools to run commands and code with, by the short names a deep agent's settings use."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

# By unit, not by name: the MCP client and the sandboxes load only when they are asked for.
from toolwright import builtin, sources
from toolwright._expected import shown_value
from toolwright.backends import Executor, LocalExecutor
from toolwright.errors import ToolError, UsageError
from toolwright.tools import Tool, Toolset

__all__ = ["Execution", "execution_tools", "executor_of", "open_toolset"]

Execution = str | Mapping[str, Any] | Executor | Toolset | None
"""`"local"`, `"heimdall"`, an MCP server (`{"command": …}` or `{"uri": …}`), or an executor."""

_CHOICES = (
    "'local' (this machine, no sandbox), 'heimdall' (our sandbox: execute_python, execute_bash, "
    "install_packages), {'command': …, 'args': …, 'env': …} or {'uri': …} for an MCP server, "
    "an Executor, or a Toolset"
)


def execution_tools(execution: Execution, work_dir: str | Path) -> list[Tool | Toolset]:
    """The tools that `execution` stands for; sandboxes and servers start when first used."""
    match execution:
        case None:
            return []
        case "local":
            return [builtin.create_local_execute_tool(work_dir=work_dir)]
        case "heimdall":
            return [builtin.SandboxToolset(work_dir)]
        case Toolset():
            return [execution]
        case {"command": str(command), **rest}:
            return [sources.McpToolset(_stdio(command, rest))]
        case {"uri": str(uri), **rest}:
            return [sources.McpToolset(sources.SseConnectionParams(url=uri, **rest))]
        case str() | Mapping():
            shown = shown_value("", execution)  # Of a mapping its keys, which are at fault.
            raise UsageError(f"execution={shown} is not known; use {_CHOICES}.")
        case _:
            return [builtin.create_local_execute_tool(execution)]


def executor_of(execution: Execution, work_dir: str | Path) -> Executor | None:
    """Where scripts of skills run: with the same rights as commands do, or nowhere."""
    match execution:
        case None | Mapping() | Toolset():
            return None
        case "local":
            return LocalExecutor(work_dir)
        case "heimdall":
            sandbox = builtin.BestExecutor(work_dir)
            return sandbox if sandbox.is_sandbox else None
        case Executor():
            return execution
        case _:
            return None


async def open_toolset(toolset: Toolset) -> None:
    """Start what a toolset needs; `UsageError` when that is not possible."""
    try:
        if isinstance(toolset, sources.McpToolset):
            await toolset.open()
        await toolset.list_tools(None)
    except ToolError as error:
        raise UsageError(
            f"The deep agent's server cannot be used: {error} Start it, or correct its address."
        ) from error


def _stdio(command: str, rest: Mapping[str, Any]) -> Any:
    unknown = rest.keys() - {"args", "env"}
    if unknown:
        raise UsageError(f"execution has unknown settings {sorted(unknown)}; use {_CHOICES}.")
    server = sources.StdioServerParameters(
        command=command, args=list(rest.get("args", [])), env=rest.get("env")
    )
    return sources.StdioConnectionParams(server_params=server)
