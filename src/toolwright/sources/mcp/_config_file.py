"""Read the `mcp.json` files that other MCP clients use."""

import json
import os
import re
from pathlib import Path
from typing import Any

from toolwright.errors import UsageError
from toolwright.models import MODEL_KEYS
from toolwright.sources.mcp._params import (
    ConnectionParams,
    SseConnectionParams,
    StdioConnectionParams,
    StdioServerParameters,
    StreamableHTTPConnectionParams,
)
from toolwright.sources.mcp._toolset import McpToolset

__all__ = ["mcp_toolsets"]

_VARIABLE = re.compile(r"\$\{(?:env:)?(\w+)(?::-([^}]*))?\}")


def mcp_toolsets(path: str | Path, *, prefix: bool = True, **settings: Any) -> list[McpToolset]:
    """One toolset for each server in an `mcp.json`, in its order; disabled ones are left out.

    Servers stand under `mcpServers` (or `servers`) and are started in the file's directory, unless
    it names another; `${VAR}`, `${env:VAR}` and `${VAR:-default}` are filled in from the
    environment; a key of a model's provider is never put into an address or header that the file
    names. With `prefix`, tool names begin with the server's name, so that two servers never clash.
    `settings` are `McpToolset`'s, for all of them.
    """
    servers = _read(Path(path))
    return [
        McpToolset(
            _params(name, server, path, settings.get("sandbox") is not None),
            name=name,
            tool_name_prefix=_as_prefix(name) if prefix else None,
            **settings,
        )
        for name, server in servers.items()
        if not server.get("disabled")
    ]


def _read(path: Path) -> dict[str, dict[str, Any]]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UsageError(f"There is no MCP configuration at {str(path)!r}.") from None
    except ValueError as error:
        raise UsageError(f"{str(path)!r} is not JSON: {error}") from error
    servers = found.get("mcpServers", found.get("servers")) if isinstance(found, dict) else None
    if not isinstance(servers, dict) or not all(isinstance(s, dict) for s in servers.values()):
        raise UsageError(f'{str(path)!r} must have an object "mcpServers" with a server per name.')
    return {
        name: {
            key: _filled_in(value, f"{name!r} in {str(path)!r}", leaves=key in ("url", "headers"))
            for key, value in server.items()
        }
        for name, server in servers.items()
    }


def _params(
    name: str, server: dict[str, Any], path: str | Path, sandboxed: bool
) -> ConnectionParams:
    kind = server.get("type") or server.get("transport")
    if "command" in server:
        return StdioConnectionParams(
            StdioServerParameters(
                command=server["command"],
                args=server.get("args", []),
                env=server.get("env"),
                cwd=_directory(name, server.get("cwd"), path, sandboxed),
            )
        )
    if "url" not in server:
        raise UsageError(f'MCP server {name!r} in {str(path)!r} has neither "command" nor "url".')
    if kind == "sse":
        return SseConnectionParams(server["url"], headers=server.get("headers", {}))
    if kind in (None, "http", "streamable-http", "streamableHttp"):
        return StreamableHTTPConnectionParams(server["url"], headers=server.get("headers", {}))
    raise UsageError(
        f"MCP server {name!r} in {str(path)!r} has the type {kind!r}; "
        "known are 'stdio', 'http' and 'sse'."
    )


def _directory(name: str, cwd: Any, path: str | Path, sandboxed: bool) -> Path | None:
    """Where a server starts: where it says, or beside the file; a sandbox has a place of its own."""
    if cwd is not None and not isinstance(cwd, str):
        raise UsageError(f'MCP server {name!r} in {str(path)!r} has no path as "cwd": {cwd!r}.')
    beside = Path(path).absolute().parent
    return beside / cwd if cwd else None if sandboxed else beside


def _filled_in(value: Any, where: str, *, leaves: bool) -> Any:
    """`value` with its variables replaced, however deep they stand; `leaves` if it is sent away."""
    if isinstance(value, str):
        return _VARIABLE.sub(lambda match: _variable(match, where, leaves), value)
    if isinstance(value, list):
        return [_filled_in(item, where, leaves=leaves) for item in value]
    if isinstance(value, dict):
        return {key: _filled_in(item, where, leaves=leaves) for key, item in value.items()}
    return value


def _variable(match: re.Match[str], where: str, leaves: bool) -> str:
    name, default = match.groups()
    if leaves and name in MODEL_KEYS:
        raise UsageError(
            f"MCP server {where} wants {name}, the key of a model's provider, in an address or "
            "header. If this server is to have a key, put it into a variable of its own."
        )
    found = os.environ.get(name, default)
    if found is None:
        raise UsageError(f"MCP server {where} needs the environment variable {name}; set it.")
    return found


def _as_prefix(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_]+", "_", name).strip("_")
