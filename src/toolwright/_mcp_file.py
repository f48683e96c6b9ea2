"""The servers of an `mcp.json` as they are written: comments and trailing commas are taken, and nothing
is filled in, started or connected to."""

import json
import re
from pathlib import Path
from typing import Any

from toolwright._private import read_plain_file
from toolwright.errors import UsageError

__all__ = ["COMMENT_MARKS", "McpFile", "is_disabled", "read_mcp_file", "read_small_file"]

McpFile = dict[str, dict[str, Any]]
"""A server's fields for each name; those that are null are left out."""
COMMENT_MARKS = ("_", "/", "$")
"""How names begin that are comments in plain JSON, or say which schema an editor checks."""
_TOP = {"mcpServers", "servers", "inputs"}
# A string that does not end is taken to the end: else it would be looked for again at each quote.
_STRING = r'"(?:\\.|[^"\\])*+"?'
_NOT_DATA = re.compile(_STRING + r"|//[^\n]*|/\*(?:.*?\*/)?", re.DOTALL)
_TRAILING = re.compile(_STRING + r"|,(?=\s*[}\]])", re.DOTALL)
_MOST_BYTES = 1_000_000


def read_mcp_file(path: Path) -> McpFile:
    """The servers under `mcpServers` or `servers`; `UsageError` for what is no such file."""
    try:
        text = read_small_file(path)
        found = json.loads(_plain_json(text), object_pairs_hook=_unique)
    except FileNotFoundError:
        raise UsageError(f"There is no MCP configuration at {str(path)!r}.") from None
    except OSError as error:
        raise UsageError(f"{str(path)!r} cannot be read: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{str(path)!r} is not JSON: {error}") from error
    found = found if isinstance(found, dict) else {}
    if found.keys() >= {"mcpServers", "servers"}:
        raise UsageError(f'{str(path)!r} has both "mcpServers" and "servers"; keep one of them.')
    for name in found:
        if name not in _TOP and not name.startswith(COMMENT_MARKS):
            raise UsageError(
                f"{str(path)!r} has {name!r} beside its servers, which is not known here and might "
                "say what they may do: take it out, or write what it means with McpToolset."
            )
    servers = found.get("mcpServers", found.get("servers"))
    if not isinstance(servers, dict) or not all(isinstance(s, dict) for s in servers.values()):
        raise UsageError(f'{str(path)!r} must have an object "mcpServers" with a server per name.')
    return {
        name: {key: value for key, value in server.items() if value is not None}
        for name, server in servers.items()
    }


def read_small_file(path: Path) -> str:
    """Its text; `OSError` if it is no regular file, or longer than a person would write it."""
    return read_plain_file(path, _MOST_BYTES).decode("utf-8-sig")


def is_disabled(server: dict[str, Any]) -> bool:
    """Whether the file says that it is not started."""
    return server.get("disabled", False) is not False or server.get("enabled", True) is not True


def _plain_json(text: str) -> str:
    """The text without comments and trailing commas, with its lines where they were."""
    bare = _NOT_DATA.sub(lambda found: _blank(found[0]), text)
    return _TRAILING.sub(lambda found: " " if found[0] == "," else found[0], bare)


def _blank(found: str) -> str:
    if found == "/*":
        raise ValueError("a comment does not end")
    return found if found.startswith('"') else re.sub(r"[^\n]", " ", found)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; of a name that stands there twice, a reader would see the one that is not used."""
    made: dict[str, Any] = {}
    for key, value in pairs:
        if key in made:
            raise ValueError(f"{key!r} is there twice")
        made[key] = value
    return made
