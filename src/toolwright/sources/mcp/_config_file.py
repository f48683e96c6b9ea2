"""Make toolsets of the `mcp.json` files that other MCP clients use."""

import json
import logging
import re
from collections.abc import Collection, Mapping, Sequence
from fnmatch import translate
from pathlib import Path
from typing import Any

from toolwright._mcp_env_file import read_env_file
from toolwright._mcp_file import COMMENT_MARKS, is_disabled, read_mcp_file
from toolwright._mcp_variables import directory_of, fill_in, is_variable
from toolwright.backends._own_paths import unless_refused
from toolwright.errors import UsageError
from toolwright.models import MODEL_KEYS
from toolwright.sources.mcp._params import (
    ConnectionParams,
    SseConnectionParams,
    StdioConnectionParams,
    StdioServerParameters,
    StreamableHTTPConnectionParams,
)
from toolwright.sources.mcp._resources import LOAD_RESOURCE
from toolwright.sources.mcp._toolset import McpToolset, name_for_models
from toolwright.tools import ReadonlyContext, Tool, ToolFilter, nearest

__all__ = ["mcp_toolsets"]

_log = logging.getLogger("toolwright.mcp")

_ONLY = ("includeTools", "enabledTools", "tools")
_NOT = ("disabledTools", "excludeTools")
_OF_ALL = {"type", "transport", "disabled", "enabled", *_ONLY, *_NOT}
_OF_STARTED = {"command", "args", "env", "envFile", "cwd"}
_OF_REMOTE = {"url", "headers"}
_WITHOUT_EFFECT = {
    "alwaysAllow", "autoApprove", "autoStart", "description", "dev", "gallery", "icon", "metadata",
    "name", "timeout", "trust", "version", "watchPaths",
}  # fmt: skip
"""What concerns another client's window, patience or approvals; rules decide about approvals here."""
_NOT_IN_PATTERNS = re.compile(r"[^A-Za-z0-9_*?-]")
"""They are compared with names that models take."""
_ALSO_CALLED = {"local": "stdio", "streamablehttp": "http"}


@unless_refused()
def mcp_toolsets(path: str | Path, *, prefix: bool = True, **settings: Any) -> list[McpToolset]:
    """One toolset for each server in an `mcp.json`, in its order; disabled ones are left out.

    Servers stand under `mcpServers` (or `servers`) and are started in the file's directory (or, for
    `.vscode/mcp.json` and the like, the one above), unless the file names another. `${VAR}`,
    `${env:VAR}` and `${VAR:-default}` are filled in from the environment, `${input:id}` from the
    variable of that name, `${workspaceFolder}` and `${userHome}` as they are; a key of a model's
    provider goes nowhere but into `env`, as a whole value: into no address, header or argument.
    Fields that are not known are refused: they might say which tools there are. With `prefix`, tool
    names begin with the server's name, so that two servers never clash. `settings` are
    `McpToolset`'s, for all of them.
    """
    file = Path(path)
    keep: ToolFilter = settings.pop("tool_filter", None)
    sandboxed = settings.get("sandbox") is not None
    made = [
        _Server(name, fields, file, sandboxed)
        for name, fields in read_mcp_file(file).items()
        if not is_disabled(fields)
    ]
    prefixes = [_as_prefix(server.name) for server in made] if prefix else []
    toolsets: list[McpToolset] = []
    for server in made:
        toolset = McpToolset(
            server.params(),
            name=server.name,
            tool_filter=_apart(server.tool_filter(keep), _as_prefix(server.name), prefixes),
            tool_name_prefix=_as_prefix(server.name) if prefix else None,
            **settings,
        )
        toolset._on_listing = server.log_unknown_names
        toolsets.append(toolset)
    return toolsets


def _apart(keep: ToolFilter, own: str, prefixes: Sequence[str]) -> ToolFilter:
    """Without tools that would have names of another server's, as `hub_pay` of `git` beside `git_hub`."""
    others = [f"{other}_"[len(own) + 1 :] for other in prefixes if other.startswith(f"{own}_")]
    if not others:
        return keep

    def passes(tool: Tool, context: ReadonlyContext | None) -> bool:
        if tool.name.startswith(tuple(others)):
            _log.error("Tool %r of MCP server %r is left out: its name would be another server's.",
                       tool.name, own)  # fmt: skip
            return False
        return _accepts(keep, tool, context)

    return passes


class _Server:
    """One server of a file, its fields checked and filled in."""

    def __init__(self, name: str, fields: dict[str, Any], file: Path, sandboxed: bool) -> None:
        self.name = name
        self._sandboxed = sandboxed
        self._where = f"MCP server {name!r} in {str(file)!r}"
        self._logged: set[str] = set()
        self._base = directory_of(file)
        self._check_names(fields)
        self._fields = {key: self._filled_in(key, value) for key, value in fields.items()}

    def _filled_in(self, key: str, value: Any) -> Any:
        """The key of a model's provider goes to a program that needs it, and into no address or line."""
        if key == "env" and isinstance(value, dict):
            return {
                name: fill_in(
                    item, self._base, self._where, withheld=() if is_variable(item) else MODEL_KEYS
                )
                for name, item in value.items()
            }
        return fill_in(value, self._base, self._where, withheld=MODEL_KEYS)

    def params(self) -> ConnectionParams:
        """How to reach it."""
        kind = self._kind()
        if kind == "stdio":
            params = StdioServerParameters(
                command=self._text("command") or "",
                args=self._texts("args"),
                env=self._environment(),
                cwd=self._directory(),
            )
            return StdioConnectionParams(params)
        made = SseConnectionParams if kind == "sse" else StreamableHTTPConnectionParams
        return made(self._text("url") or "", headers=self._pairs("headers") or {})

    def tool_filter(self, keep: ToolFilter) -> ToolFilter:
        """What `keep` and the file leave of its tools: those that every list has that says which."""
        listed = [_Named(self._texts(field)) for field in _ONLY if field in self._fields]
        never = _Named([text for field in _NOT for text in self._texts(field)])
        if not listed and not never.texts:
            return keep

        def passes(tool: Tool, context: ReadonlyContext | None) -> bool:
            if any(name in never for name in self._names_to_hide(tool)):
                return False
            if tool.name != LOAD_RESOURCE and not all(tool.name in names for names in listed):
                return False
            return _accepts(keep, tool, context)

        return passes

    def log_unknown_names(self, tools: Sequence[Tool]) -> None:
        """Log, once each, the names in its lists of tools that none of the server's tools has."""
        names = {tool.name for tool in tools}
        hidden = {name for tool in tools for name in self._names_to_hide(tool)}
        fitting = {**dict.fromkeys(_ONLY, names), **dict.fromkeys(_NOT, hidden)}
        for field, known in fitting.items():
            for text in self._texts(field):
                named = _Named([text])
                if text in {"*", *self._logged} or any(name in named for name in known):
                    continue
                self._logged.add(text)
                _log.error('%s names the tool %r as "%s", and there is none; %s',
                           self._where, text, field, nearest(text, names))  # fmt: skip

    def _names_to_hide(self, tool: Tool) -> tuple[str, str]:
        """By what names a tool is left out: its own, and the one that the model would see.

        To be the only ones, tools are named as the server has them: two could have one such name.
        """
        return tool.name, name_for_models(f"{_as_prefix(self.name)}_{tool.name}")

    def _check_names(self, fields: Mapping[str, Any]) -> None:
        kinds = [key for key in ("command", "url") if key in fields]
        if len(kinds) != 1:
            has = "both" if kinds else "neither"
            raise UsageError(
                f'{self._where} has {has} "command" {"and" if kinds else "nor"} "url".'
            )
        own, other = (
            (_OF_STARTED, _OF_REMOTE) if kinds == ["command"] else (_OF_REMOTE, _OF_STARTED)
        )
        for key in fields.keys() - own - _OF_ALL - _WITHOUT_EFFECT:
            if key in other:
                raise UsageError(f'{self._where} has a "{kinds[0]}", and {key!r} is for others.')
            if not key.startswith(COMMENT_MARKS):
                raise UsageError(
                    f"{self._where} has the field {key!r}, which is not known here and might say "
                    "what the server may do: take it out, or write what it means with McpToolset."
                )

    def _kind(self) -> str:
        """`stdio`, `http` or `sse`, as its type and transport say; each is checked."""
        known = {"stdio"} if "command" in self._fields else {"http", "sse"}
        named = {key: self._text(key) for key in ("type", "transport")}
        kinds = {key: _kind_of(text) for key, text in named.items() if text}
        for key, kind in kinds.items():
            if kind not in known:
                raise UsageError(
                    f"{self._where} has the {key} {named[key]!r}; known are 'stdio' for a command, "
                    "'http' and 'sse' for a url."
                )
        if len({*kinds.values()}) > 1:
            raise UsageError(
                f"{self._where} has the type {named['type']!r} and the transport "
                f"{named['transport']!r}; keep one of them."
            )
        return next(iter(kinds.values()), "stdio" if "command" in self._fields else "http")

    def _text(self, key: str) -> str | None:
        found = self._fields.get(key)
        if found is not None and not isinstance(found, str):
            raise UsageError(f'{self._where} has no text as "{key}" but {_what(found)}.')
        return found

    def _texts(self, key: str) -> list[str]:
        found = self._fields.get(key, [])
        if not isinstance(found, list) or not all(isinstance(item, str) for item in found):
            raise UsageError(f'{self._where} has no list of texts as "{key}" but {_what(found)}.')
        return found

    def _pairs(self, key: str) -> dict[str, str] | None:
        found = self._fields.get(key)
        if found is None:
            return None
        if not isinstance(found, dict) or any(isinstance(v, dict | list) for v in found.values()):
            raise UsageError(f'{self._where} has no object of texts as "{key}".')
        given = {name: value for name, value in found.items() if value is not None}
        return {name: v if isinstance(v, str) else json.dumps(v) for name, v in given.items()}

    def _environment(self) -> dict[str, str] | None:
        """What stands in the file that it names, and before that in this one."""
        own, file = self._pairs("env"), self._text("envFile")
        return own if not file else {**read_env_file(self._base / file, self._where), **(own or {})}

    def _directory(self) -> Path | None:
        """Where it starts: where it says, or beside the file; a sandbox has a place of its own."""
        cwd = self._text("cwd")
        return self._base / cwd if cwd else None if self._sandboxed else self._base


class _Named:
    """The tools that a list names, each by its name or with a pattern (`delete_*`, `get_?`)."""

    def __init__(self, texts: Collection[str]) -> None:
        self.texts = texts
        self._names = {name_for_models(text) for text in texts}
        self._patterns = [
            re.compile(translate(_NOT_IN_PATTERNS.sub("_", text)))
            for text in texts
            if "*" in text or "?" in text
        ]

    def __contains__(self, name: str) -> bool:
        return name in self._names or any(one.match(name) for one in self._patterns)


def _accepts(keep: ToolFilter, tool: Tool, context: ReadonlyContext | None) -> bool:
    if keep is None:
        return True
    return keep(tool, context) if callable(keep) else tool.name in keep


def _kind_of(text: str) -> str:
    plain = re.sub("[-_]", "", text).lower()
    return _ALSO_CALLED.get(plain, plain)


def _what(found: Any) -> str:
    """What it is, without what was filled in."""
    return (
        "a list with others"
        if isinstance(found, list)
        else f"a value of type {type(found).__name__}"
    )


def _as_prefix(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_]+", "_", name).strip("_")
