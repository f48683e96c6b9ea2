"""Tools to run commands and code with, by the short names a deep agent's settings use."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

# By unit, not by name: the MCP client and the sandboxes load only when they are asked for.
from toolwright import builtin, sources
from toolwright.backends import Executor
from toolwright.errors import UsageError
from toolwright.tools import Tool, Toolset

__all__ = ["Execution", "execution_tools"]

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
            raise UsageError(f"execution={execution!r} is not known; use {_CHOICES}.")
        case _:
            return [builtin.create_local_execute_tool(execution)]


def _stdio(command: str, rest: Mapping[str, Any]) -> Any:
    unknown = rest.keys() - {"args", "env"}
    if unknown:
        raise UsageError(f"execution has unknown settings {sorted(unknown)}; use {_CHOICES}.")
    server = sources.StdioServerParameters(
        command=command, args=list(rest.get("args", [])), env=rest.get("env")
    )
    return sources.StdioConnectionParams(server_params=server)
