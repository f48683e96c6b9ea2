"""Write down how everything is that an agent has from outside, and say what has moved since."""

from collections.abc import Iterator, Mapping
from typing import Any

from toolwright.agent._node import AgentNode
from toolwright.agent._rule_names import agents_inside
from toolwright.errors import ToolError
from toolwright.tools import Tool, Toolset, difference

__all__ = ["lock_of", "moved_since"]

_TOOLS, _FILES = "tools", "files"


async def lock_of(agent: AgentNode) -> dict[str, Any]:
    """Tools and files from outside, by source, as plain JSON; of the agents inside, too.

    Raises `ToolError` when a toolset cannot be listed now.
    """
    sources: dict[str, dict[str, Any]] = {}
    for inner in agents_inside(agent):
        tools, toolsets = inner.own_tools()
        found = list(tools)
        for toolset in toolsets:
            found += await _listed(toolset)
            for source, files in (await toolset.file_digests()).items():
                sources.setdefault(source, {})[_FILES] = files
        for tool in found:
            if tool.source:
                known = sources.setdefault(tool.source, {}).setdefault(_TOOLS, {})
                known[tool.name] = tool.definition
    return {"version": 1, "sources": sources}


async def _listed(toolset: Toolset) -> list[Tool]:
    found = await toolset.all_tools(None)
    if found is None:
        raise ToolError(
            f"{type(toolset).__name__} lists no tools now: its server is away, or wants a sign-in."
        )
    return found


def moved_since(lock: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What is not as the lock says, one line for each change."""
    return list(_moved(lock.get("sources", {}), now["sources"]))


def _moved(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    for source in sorted(before.keys() | after.keys()):
        if source not in after:
            yield f"{source}: is gone"
        elif source not in before:
            yield f"{source}: is new"
        else:
            yield from _moved_tools(source, before[source], after[source])
            yield from _moved_files(source, before[source], after[source])


def _moved_tools(source: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    old, new = before.get(_TOOLS, {}), after.get(_TOOLS, {})
    for name in sorted(old.keys() | new.keys()):
        if name not in new:
            yield f"{source}: tool {name!r} is gone"
        elif name not in old:
            yield f"{source}: tool {name!r} is new"
        else:
            yield from (f"{source}: {name!r}: {line}" for line in difference(old[name], new[name]))


def _moved_files(source: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    old, new = before.get(_FILES, {}), after.get(_FILES, {})
    for path in sorted(old.keys() | new.keys()):
        if old.get(path) != new.get(path):
            said = "is gone" if path not in new else "is new" if path not in old else "has changed"
            yield f"{source}: {path} {said}"
