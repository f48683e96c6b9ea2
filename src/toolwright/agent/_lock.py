"""Write down how everything is that an agent has from outside, and say what has moved since."""

import reprlib
from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any

from toolwright.agent._node import AgentNode
from toolwright.agent._rule_names import Reached
from toolwright.errors import ToolError, UsageError
from toolwright.tools import Tool, difference, digest_of, each_by_name

__all__ = ["lock_of", "moved_since"]

_VERSION = 1
_TOOLS, _FILES = "tools", "files"
_KINDS: dict[str, tuple[type, str]] = {_TOOLS: (Mapping, "definitions"), _FILES: (str, "digests")}
"""What a source may have, and of what type each of these is."""


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
    return {"version": _VERSION, "sources": sources}


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


def moved_since(lock: Any, now: Mapping[str, Any]) -> list[str]:
    """What is not as the lock says, one line for each change; `UsageError` when it is no lock."""
    return list(_moved(_sources(lock), _sources(now)))


def _sources(lock: Any) -> Mapping[str, Mapping[str, Any]]:
    """What a lock has; `UsageError` for all that `lock_of` does not make."""
    if not isinstance(lock, Mapping):
        raise _no_lock(f"it has a {type(lock).__name__} in place of an object")
    version = lock.get("version")
    if type(version) is not int or version != _VERSION:  # To Python, True is 1, too.
        raise _no_lock(f"its version is {reprlib.repr(version)}, where {_VERSION} was expected")
    sources = lock.get("sources")
    if not isinstance(sources, Mapping):
        raise _no_lock("it has no object of 'sources'")
    for name, parts in sources.items():
        if not isinstance(parts, Mapping) or not parts or parts.keys() - {*_KINDS}:
            raise _no_lock(f"source {name!r} is no object of {' and '.join(map(repr, _KINDS))}")
        for part, things in parts.items():
            kind, word = _KINDS[part]
            if not isinstance(things, Mapping) or not all(
                isinstance(thing, kind) for thing in things.values()
            ):
                raise _no_lock(f"{part!r} of source {name!r} is no object of {word}")
    return sources


def _no_lock(why: str) -> UsageError:
    return UsageError(f"This is no lock: {why}. Write it again with `toolwright lock`.")


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
