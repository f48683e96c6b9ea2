"""Lists of tools that are asked for before each turn, and ways to reshape them."""

import inspect
import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Protocol, runtime_checkable

from toolwright._sealed import Sealed
from toolwright._settings import near_names
from toolwright.concurrency import close_all
from toolwright.errors import UsageError
from toolwright.messages import ServerTool, Trust
from toolwright.tools._base import BaseTool
from toolwright.tools._context import ReadonlyContext, SessionInfo
from toolwright.tools._fingerprint import digest_of
from toolwright.tools._function import bound, made_of
from toolwright.tools._overrides import refuse_uncalled
from toolwright.tools._predicates import refuse_always_true
from toolwright.tools._tool import Listing, Tool, check_trust
from toolwright.tools._wrappers import with_name, with_trust

__all__ = [
    "BaseToolset",
    "RequestShaper",
    "ToolFilter",
    "ToolLike",
    "ToolPredicate",
    "Toolset",
    "as_tool",
    "as_toolset",
    "combined",
    "each_by_name",
    "filtered",
    "nearest",
    "prefixed",
    "renamed",
    "reshaped",
    "without_clashes",
]

_log = logging.getLogger("toolwright.sources")

ToolPredicate = Callable[[Tool, ReadonlyContext | None], bool]
ToolFilter = Collection[str] | ToolPredicate | None
ToolLike = Tool | BaseTool | Callable[..., Any]


@runtime_checkable
class RequestShaper(Protocol):
    """Something in an agent's `tools` that changes what the model is sent, rather than being called."""

    async def shape_request(self, ctx: ReadonlyContext, request: Any) -> Any:
        """The `ModelRequest` to send instead of `request`."""
        ...


def as_tool(thing: Any) -> Tool:
    """A tool from whatever can be one: a tool, a hand-written tool, or a function."""
    if isinstance(thing, Tool):
        return bound(thing)
    if isinstance(thing, BaseTool):
        return thing.as_tool()
    if callable(thing) and not isinstance(thing, type):
        return bound(made_of(thing))
    hint = " Did you mean an instance of it?" if isinstance(thing, type) else ""
    raise UsageError(
        f"{thing!r} is not a tool; tools are functions, Tool values, toolsets "
        f"or {ServerTool.__name__}s.{hint}"
    )


class Toolset(Sealed):
    """Lists tools for a context. Subclass it and override `get_tools`."""

    cache_listing: bool = True
    """Whether one run asks only once; turn it off when the list changes from turn to turn."""
    sequential: bool = False
    """Whether its tools run alone, one after the other: for tools that share state."""
    trust: Trust | None = None
    """What its tools' answers are taken for, whatever they say themselves; None leaves that to them."""
    is_local: bool = False
    """Whether all that it may ever list is known to be the program's own."""
    _live = ("tool_filter", "tool_name_prefix")
    _seen: frozenset[str] = frozenset()
    """The names in `tool_filter` that a listing has shown to be those of a tool."""
    _is_away: bool = False
    """Whether the latest listing is empty because what has the tools could not be reached."""

    def __init_subclass__(cls, **settings: Any) -> None:
        super().__init_subclass__(**settings)
        refuse_uncalled(cls)
        theirs = inspect.getattr_static(cls, "_use_invocation_cache")
        ours = vars(Toolset)["_use_invocation_cache"]
        if theirs is not ours:
            cls.cache_listing = _cache_setting(cls, theirs)
            cls._use_invocation_cache = ours

    def __init__(
        self,
        *,
        tool_filter: ToolFilter = None,
        tool_name_prefix: str | None = None,
        trust: Trust | None = None,
    ) -> None:
        if trust is not None:
            check_trust(trust, f"trust of {type(self).__name__}")
            self.trust = trust
        self.tool_filter = tool_filter
        self.tool_name_prefix = tool_name_prefix

    @property
    def _use_invocation_cache(self) -> bool:
        """The name that users of ADK know `cache_listing` by."""
        return self.cache_listing

    @_use_invocation_cache.setter
    def _use_invocation_cache(self, value: bool) -> None:
        object.__setattr__(self, "cache_listing", value)

    async def get_tools(
        self, readonly_context: ReadonlyContext | None = None
    ) -> Sequence[ToolLike]:
        """The tools for this context, before filter and prefix."""
        raise TypeError(f"{type(self).__name__} must define get_tools(readonly_context).")

    async def list_tools(self, context: ReadonlyContext | None = None) -> list[Tool]:
        """The tools for this context, filtered and prefixed."""
        return self._shaped(await self.get_tools(context), context)

    async def all_tools(self, context: ReadonlyContext | None = None) -> list[Tool] | None:
        """All that `list_tools` may ever list in this context; None when that cannot be said now.

        Rules are checked against it: one that names no tool is refused.
        """
        listed = await self.list_tools(context)
        is_known = not self._is_away and not any(tool.placeholder for tool in listed)
        return listed if is_known else None

    async def hidden_tools(self, context: ReadonlyContext | None = None) -> list[Tool]:
        """Tools that it may list later: behind a search, or locked.

        A session that sees it for the first time notes how these are, too.
        """
        return []

    async def file_digests(self) -> dict[str, dict[str, str]]:
        """By source, the digests of files from outside that its tools read or run."""
        return {}

    async def warnings(self) -> list[str]:
        """What is wrong with what it reads, though it can be used; `toolwright check` repeats it."""
        return []

    def _listed_as(self, tool: Tool) -> str:
        """Which source a tool is listed under: two toolsets that may list others differ in it."""
        return tool.source

    def _note_listing(self, tools: Sequence[Tool]) -> None:
        """Let each tool from outside know what else its source has; those of others know already."""
        fresh = [tool for tool in tools if tool.source and tool.listing is None]
        by_source: dict[str, list[Tool]] = {}
        for tool in fresh:
            by_source.setdefault(self._listed_as(tool), []).append(tool)
        for key, listed in by_source.items():
            listing = Listing(key, (tool.original or tool for tool in listed))
            for tool in listed:
                # In place: a toolset gives the same object again while nothing has changed.
                object.__setattr__(tool, "listing", listing)

    def _shaped(self, things: Sequence[ToolLike], context: ReadonlyContext | None) -> list[Tool]:
        tools = without_clashes([as_tool(thing) for thing in things])
        self._note_listing(tools)
        keep = self._names_kept(tools)
        self._seen = _checked_filter(type(self).__name__, keep, tools, self._seen)
        kept = [tool for tool in tools if _passes(tool, keep, context)]
        if self.trust is not None:
            kept = [with_trust(tool, self.trust) for tool in kept]
        if self.sequential:
            kept = [tool if tool.sequential else tool.replace(sequential=True) for tool in kept]
        return without_clashes([_with_prefix(tool, self.tool_name_prefix) for tool in kept])

    def _names_kept(self, tools: Sequence[Tool]) -> ToolFilter:
        """The filter, in the names that these tools have."""
        return self.tool_filter

    async def close(self) -> None:
        """Let go of connections and processes."""

    async def end_session(self, session: SessionInfo) -> None:
        """Let go of what is kept open for one session: it has ended or was deleted."""


def _cache_setting(cls: type, value: Any) -> Any:
    """What `cache_listing` is in a class that sets `_use_invocation_cache` to `value`."""
    if not isinstance(value, bool | property):
        raise UsageError(
            f"{cls.__name__}._use_invocation_cache is True, False or a property; got {value!r}."
        )
    return value


def without_clashes(tools: Sequence[Tool]) -> list[Tool]:
    """The tools without those from outside whose name is taken: the program's own come first."""
    taken = {tool.name: tool for tool in tools if not tool.source}
    kept: list[Tool] = []
    for tool in tools:
        if tool.source and (other := taken.get(tool.name)) is not None:
            whose = f"another of {other.source}" if other.source else "one of the program's own"
            _log.error(
                "Tool %r of %s is left out, since %s has its name; give its toolset a "
                "tool_name_prefix to have both.", tool.name, tool.source, whose,
            )  # fmt: skip
            if tool.listing is not None:
                # Should the name become free, it is a new tool to all who knew it as another's.
                tool.listing.left_out.add((tool.original or tool).name_there)
            continue
        taken[tool.name] = tool
        kept.append(tool)
    return kept


BaseToolset = Toolset
"""The name that users of ADK know it by."""


def each_by_name(named: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """The same things, each once; others of a name that is taken are `NAME (2)` and so on."""
    known: dict[str, str] = {}
    for name, thing in named:
        digest, label, number = digest_of(thing), name, 1
        while known.get(label, digest) != digest:
            number += 1
            label = f"{name} ({number})"
        if label not in known:
            known[label] = digest
            yield label, thing


class _Reshaped(Toolset):
    """A toolset whose list is another's, changed."""

    def __init__(
        self,
        inner: Sequence[Toolset],
        change: Callable[[list[Tool], ReadonlyContext | None], list[Tool]],
    ) -> None:
        super().__init__()
        self.inner = inner
        self.change = change
        self.is_local = all(toolset.is_local for toolset in inner)

    @property
    def cache_listing(self) -> bool:  # type: ignore[override]
        """Whether those of the toolsets behind still hold."""
        return all(toolset.cache_listing for toolset in self.inner)

    async def get_tools(self, readonly_context: ReadonlyContext | None = None) -> list[Tool]:
        listed = [tool for ts in self.inner for tool in await ts.list_tools(readonly_context)]
        return self.change(listed, readonly_context)

    async def all_tools(self, context: ReadonlyContext | None = None) -> list[Tool] | None:
        """What the toolsets behind may list, changed as they are."""
        found = [await toolset.all_tools(context) for toolset in self.inner]
        known = [tools for tools in found if tools is not None]
        if len(known) < len(found):
            return None
        return self.change([tool for tools in known for tool in tools], context)

    async def hidden_tools(self, context: ReadonlyContext | None = None) -> list[Tool]:
        """Those of the toolsets behind, as they are there."""
        return [tool for inner in self.inner for tool in await inner.hidden_tools(context)]

    async def file_digests(self) -> dict[str, dict[str, str]]:
        """Those of the toolsets behind."""
        found = [await toolset.file_digests() for toolset in self.inner]
        return dict(each_by_name(pair for digests in found for pair in digests.items()))

    async def warnings(self) -> list[str]:
        """Those of the toolsets behind."""
        return [text for toolset in self.inner for text in await toolset.warnings()]

    async def close(self) -> None:
        await close_all([toolset.close for toolset in self.inner])

    async def end_session(self, session: SessionInfo) -> None:
        await close_all([partial(toolset.end_session, session) for toolset in self.inner])


def combined(*toolsets: Toolset | Sequence[ToolLike]) -> Toolset:
    """One toolset that lists what all of them list, in order."""
    return _Reshaped([as_toolset(ts) for ts in toolsets], lambda tools, _: tools)


def filtered(toolset: Toolset | Sequence[ToolLike], keep: ToolFilter) -> Toolset:
    """Only the tools that `keep` names or accepts."""
    inner, seen = as_toolset(toolset), frozenset[str]()

    def change(tools: list[Tool], ctx: ReadonlyContext | None) -> list[Tool]:
        nonlocal seen
        seen = _checked_filter("filtered(…)", keep, tools, seen)
        return [tool for tool in tools if _passes(tool, keep, ctx)]

    return _Reshaped([inner], change)


def prefixed(toolset: Toolset | Sequence[ToolLike], prefix: str) -> Toolset:
    """The same tools with `prefix` before their names; the underscore is added when missing."""
    return _Reshaped(
        [as_toolset(toolset)], lambda tools, _: [_with_prefix(t, prefix) for t in tools]
    )


def renamed(toolset: Toolset | Sequence[ToolLike], names: Mapping[str, str]) -> Toolset:
    """The same tools, those in `names` under their new names."""
    return _Reshaped(
        [as_toolset(toolset)],
        lambda tools, _: [with_name(t, names[t.name]) if t.name in names else t for t in tools],
    )


def reshaped(toolset: Toolset | Sequence[ToolLike], change: Callable[[Tool], Tool]) -> Toolset:
    """The same tools, each as `change` makes it: for wrappers such as `with_timeout`."""
    return _Reshaped([as_toolset(toolset)], lambda tools, _: [change(tool) for tool in tools])


class _Fixed(Toolset):
    """A toolset that always lists the same tools."""

    def __init__(self, tools: Sequence[ToolLike]) -> None:
        super().__init__()
        self.tools = [as_tool(thing) for thing in tools]
        self.is_local = not any(tool.source for tool in self.tools)

    async def get_tools(self, readonly_context: ReadonlyContext | None = None) -> list[Tool]:
        return self.tools

    def _note_listing(self, tools: Sequence[Tool]) -> None:
        """The program has chosen these; what else their sources have is not known here."""

    async def close(self) -> None:
        await close_all([tool.close for tool in self.tools if tool.close is not None])

    async def end_session(self, session: SessionInfo) -> None:
        ends = [tool.end_session for tool in self.tools if tool.end_session is not None]
        await close_all([partial(end, session) for end in ends])


def as_toolset(thing: Toolset | Sequence[ToolLike]) -> Toolset:
    """A toolset from a toolset or a list of tools."""
    return thing if isinstance(thing, Toolset) else _Fixed(thing)


def _checked_filter(
    whose: str, keep: ToolFilter, tools: Sequence[Tool], seen: frozenset[str]
) -> frozenset[str]:
    """The names in `keep` that are known to be right; `UsageError` for one that no tool has."""
    if callable(keep):
        refuse_always_true(keep, f"The filter of {whose}", may_wait=False)
    if keep is None or callable(keep):
        return seen
    if isinstance(keep, str):
        raise UsageError(f"tool_filter is a list of names; got {keep!r}.")
    names = [tool.name for tool in tools]
    seen = seen.union(name for name in names if name in keep)
    # A server that cannot be reached, or wants a sign-in first, says nothing about its tools.
    is_known = bool(tools) and not any(tool.placeholder for tool in tools)
    unknown = next((name for name in keep if name not in seen), None)
    if unknown is not None and is_known:
        raise UsageError(
            f"There is no tool {unknown!r}, which the filter of {whose} names; "
            f"{nearest(unknown, names)}"
        )
    return seen


def nearest(name: str, known: Iterable[str]) -> str:
    """What there is instead of a name that no tool has, as the end of a sentence."""
    known = list(known)
    near = near_names(name, known, most=3, cutoff=0.5)
    some = ", ".join(near or sorted(known)[:20]) or "none"
    return f"{'near' if near else 'known'} names: {some}."


def _passes(tool: Tool, keep: ToolFilter, context: ReadonlyContext | None) -> bool:
    if keep is None or tool.placeholder:
        return True
    return keep(tool, context) if callable(keep) else tool.name in keep


def _with_prefix(tool: Tool, prefix: str | None) -> Tool:
    if not prefix:
        return tool
    joint = "" if prefix.endswith("_") else "_"
    return with_name(tool, f"{prefix}{joint}{tool.name}")
