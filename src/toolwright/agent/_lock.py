"""Write down how everything is that an agent has from outside, and say what has moved since."""

from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any

from toolwright.agent._node import AgentNode
from toolwright.agent._rule_names import Reached
from toolwright.errors import ToolError, UsageError
from toolwright.tools import Tool, difference, digest_of, each_by_name

__all__ = ["lock_of", "moved_since"]

_TOOLS, _FILES = "tools", "files"


async def lock_of(agent: AgentNode) -> dict[str, Any]:
    """Tools and files from outside, by source, as plain JSON: of all that the agent can reach.

    Two sources of one name that have different things stand side by side, the second as `NAME (2)`.
    Raises `ToolError` when a toolset cannot be listed now.
    """
    reached = Reached(agent)
    await reached.list_all(None)
    for toolset in reached.toolsets:
        raise ToolError(
            f"{type(toolset).__name__} lists no tools now: its server is away, or wants a sign-in."
        )
    sources: dict[str, dict[str, Any]] = {}
    for source, tools in each_by_name(_by_source(reached.tools)):
        sources.setdefault(source, {})[_TOOLS] = tools
    digests = [await toolset.file_digests() for toolset in reached.listed]
    for source, files in each_by_name(pair for found in digests for pair in found.items()):
        sources.setdefault(source, {})[_FILES] = files
    return {"version": 1, "sources": sources}


def _by_source(tools: list[Tool]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The definitions of the tools of each listing, under the name of its source.

    One that two toolsets say different things of stands in a listing of its own.
    """
    found: dict[tuple[str, str, int], dict[str, Any]] = {}
    for tool in (tool for tool in tools if tool.source):
        key = "" if tool.listing is None else tool.listing.key
        for number in count():
            known = found.setdefault((tool.source, key, number), {})
            told = known.setdefault(tool.name, tool.definition)
            if told is tool.definition or digest_of(told) == tool.fingerprint:
                break
    # Listings that have nothing in common, as a server's tools and its resources, are one.
    joined: dict[str, list[dict[str, Any]]] = {}
    for (source, _, _), listed in found.items():
        others = joined.setdefault(source, [])
        apart = next((other for other in others if not other.keys() & listed.keys()), None)
        if apart is None:
            others.append(listed)
        else:
            apart.update(listed)
    yield from ((source, listed) for source, others in joined.items() for listed in others)


def moved_since(lock: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What is not as the lock says, one line for each change; `UsageError` when it is no lock."""
    return list(_moved(_sources(lock), _sources(now)))


def _sources(lock: Mapping[str, Any]) -> Mapping[str, Any]:
    sources = lock.get("sources")
    parts = sources.values() if isinstance(sources, Mapping) else [None]
    for part in parts:
        named = [part.get(_TOOLS, {}), part.get(_FILES, {})] if isinstance(part, Mapping) else []
        is_whole = named and all(isinstance(things, Mapping) for things in named)
        if not is_whole or not all(isinstance(tool, Mapping) for tool in named[0].values()):
            raise UsageError(
                "This is no lock: it has an object of 'sources', each with 'tools' or 'files' by "
                "name. Write it again with `toolwright lock`."
            )
    return sources or {}


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
