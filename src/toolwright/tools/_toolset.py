"""Lists of tools that are asked for before each turn, and ways to reshape them."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from toolwright.errors import UsageError
from toolwright.messages import ServerTool
from toolwright.tools._base import BaseTool
from toolwright.tools._context import ReadonlyContext
from toolwright.tools._function import FunctionTool
from toolwright.tools._tool import Tool
from toolwright.tools._wrappers import with_name

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
    "filtered",
    "prefixed",
    "renamed",
    "reshaped",
]

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
        return thing
    if isinstance(thing, BaseTool):
        return thing.as_tool()
    if callable(thing) and not isinstance(thing, type):
        return FunctionTool(thing)
    hint = " Did you mean an instance of it?" if isinstance(thing, type) else ""
    raise UsageError(
        f"{thing!r} is not a tool; tools are functions, Tool values, toolsets "
        f"or {ServerTool.__name__}s.{hint}"
    )


class Toolset:
    """Lists tools for a context. Subclass it and override `get_tools`."""

    cache_listing: bool = True
    """Whether one run asks only once; turn it off when the list changes from turn to turn."""

    def __init__(
        self, *, tool_filter: ToolFilter = None, tool_name_prefix: str | None = None
    ) -> None:
        self.tool_filter = tool_filter
        self.tool_name_prefix = tool_name_prefix

    async def get_tools(
        self, readonly_context: ReadonlyContext | None = None
    ) -> Sequence[ToolLike]:
        """The tools for this context, before filter and prefix."""
        raise TypeError(f"{type(self).__name__} must define get_tools(readonly_context).")

    async def list_tools(self, context: ReadonlyContext | None = None) -> list[Tool]:
        """The tools for this context, filtered and prefixed."""
        tools = [as_tool(thing) for thing in await self.get_tools(context)]
        kept = [tool for tool in tools if _passes(tool, self.tool_filter, context)]
        return [_with_prefix(tool, self.tool_name_prefix) for tool in kept]

    async def close(self) -> None:
        """Let go of connections and processes."""


BaseToolset = Toolset
"""The name that users of ADK know it by."""


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
        self.cache_listing = all(toolset.cache_listing for toolset in inner)

    async def get_tools(self, readonly_context: ReadonlyContext | None = None) -> list[Tool]:
        listed = [tool for ts in self.inner for tool in await ts.list_tools(readonly_context)]
        return self.change(listed, readonly_context)

    async def close(self) -> None:
        for toolset in self.inner:
            await toolset.close()


def combined(*toolsets: Toolset | Sequence[ToolLike]) -> Toolset:
    """One toolset that lists what all of them list, in order."""
    return _Reshaped([as_toolset(ts) for ts in toolsets], lambda tools, _: tools)


def filtered(toolset: Toolset | Sequence[ToolLike], keep: ToolFilter) -> Toolset:
    """Only the tools that `keep` names or accepts."""
    return _Reshaped(
        [as_toolset(toolset)], lambda tools, ctx: [t for t in tools if _passes(t, keep, ctx)]
    )


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

    async def get_tools(self, readonly_context: ReadonlyContext | None = None) -> list[Tool]:
        return self.tools


def as_toolset(thing: Toolset | Sequence[ToolLike]) -> Toolset:
    """A toolset from a toolset or a list of tools."""
    return thing if isinstance(thing, Toolset) else _Fixed(thing)


def _passes(tool: Tool, keep: ToolFilter, context: ReadonlyContext | None) -> bool:
    if keep is None:
        return True
    return keep(tool, context) if callable(keep) else tool.name in keep


def _with_prefix(tool: Tool, prefix: str | None) -> Tool:
    if not prefix:
        return tool
    joint = "" if prefix.endswith("_") else "_"
    return with_name(tool, f"{prefix}{joint}{tool.name}")
