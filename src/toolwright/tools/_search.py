"""Put a toolset behind a search: the model sees one tool, and is told of those that it finds."""

import json
from collections import OrderedDict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

from pydantic import Field

from toolwright.errors import ToolError, UsageError
from toolwright.messages import CALL_TOOL
from toolwright.tools._context import ReadonlyContext, SessionInfo, ToolContext
from toolwright.tools._function import FunctionTool
from toolwright.tools._ranking import Ranking, load_stemmer
from toolwright.tools._tool import MaxOutput, Output, Tool
from toolwright.tools._toolset import ToolLike, Toolset, as_toolset

__all__ = ["SearchableToolset", "searchable"]

_INDEXED_CHARACTERS = 300
_RUNS_REMEMBERED = 32
_DEFINITIONS = MaxOutput(bytes=256 * 1024, lines=10_000)
"""A definition that is cut is of no use."""


def searchable(
    toolset: Toolset | Sequence[ToolLike],
    *,
    limit: int = 5,
    always: Collection[str] = (),
    search_tool_name: str = "search_tools",
) -> "SearchableToolset":
    """Show the model `search_tools` instead of every tool; it can call what it finds from then on.

    Definitions come with the result of the search, so that the beginning of the conversation stays
    as it is and a provider's prompt cache holds. Found tools stay for the session. `limit` is the
    number of tools per search; tools named in `always` need not be searched for.
    """
    return SearchableToolset(
        as_toolset(toolset), limit=limit, always=always, search_tool_name=search_tool_name
    )


class SearchableToolset(Toolset):
    """Lists `search_tools`, and the tools of another toolset that were found with it."""

    cache_listing = False

    def __init__(
        self, inner: Toolset, *, limit: int, always: Collection[str], search_tool_name: str
    ) -> None:
        if limit < 1:
            raise UsageError(f"A search must find at least one tool; got limit={limit!r}.")
        super().__init__()
        load_stemmer()
        self.inner = inner
        self.is_local = inner.is_local
        self.limit = limit
        self.always = tuple(always)
        search = FunctionTool(self._search, name=search_tool_name, effects="read", idempotent=True)
        self._search_tool = search.replace(caller=_CALL_TOOL, max_output=_DEFINITIONS)
        # One listing per run, as the agent does it; the newest runs are remembered.
        self._catalogs: OrderedDict[str, _Catalog] = OrderedDict()

    async def get_tools(self, readonly_context: ReadonlyContext | None = None) -> list[Tool]:
        """The search, and what was found so far; costs no more when there are more tools."""
        found = self._found(readonly_context)
        if not found:
            return [self._search_tool]
        catalog = await self._catalog(readonly_context)
        tools = [
            catalog.by_name[name] if name in self.always else catalog.found(name)
            for name in found
            if name in catalog.by_name
        ]
        return [self._search_tool, *tools]

    async def all_tools(self, context: ReadonlyContext | None = None) -> list[Tool] | None:
        """The search, and all that can be found with it."""
        found = await self.inner.all_tools(context)
        return None if found is None else self._shaped([self._search_tool, *found], context)

    async def hidden_tools(self, context: ReadonlyContext | None = None) -> list[Tool]:
        """All that can be found."""
        found = (await self._catalog(context)).tools
        return [*found, *await self.inner.hidden_tools(context)]

    async def file_digests(self) -> dict[str, dict[str, str]]:
        """Those of the toolset behind."""
        return await self.inner.file_digests()

    async def close(self) -> None:
        """Close the toolset behind."""
        await self.inner.close()

    async def end_session(self, session: SessionInfo) -> None:
        """Tell the toolset behind."""
        await self.inner.end_session(session)

    async def _search(
        self,
        query: Annotated[str, Field(description="What the tool should do, in a few words.")],
        tool_context: ToolContext,
        tags: Annotated[
            list[str] | None, Field(description="Only tools with one of these tags.")
        ] = None,
    ) -> Output:
        """Find tools by what they do. Those found can be called from your next turn on."""
        catalog = await self._catalog(tool_context)
        matches = [tool for tool in catalog.search(query, tags) if _is_on(tool, tool_context)]
        chosen = matches[: self.limit]
        if not chosen:
            return Output(text=catalog.nothing_found(query, tags), data={"found": []})
        names = [tool.name for tool in chosen]
        tool_context.state.change(
            self._key(tool_context), lambda known: list(dict.fromkeys([*known, *names])), default=[]
        )
        more = len(matches) - len(chosen)
        # A prefix that was put before this tool's name was put before those of the others, too.
        prefix, own, _ = tool_context.call.name.rpartition(self._search_tool.name)
        shown = [f"{prefix if own else ''}{tool.name}" for tool in chosen]
        defined = map(_defined, shown, chosen)
        told = "\n\n".join(["You can call these tools from now on:", *defined])
        if more:
            told += f"\n\n({more} more fit; use other words to narrow the search.)"
        new = [
            name for name, tool in zip(shown, chosen, strict=True) if tool.name not in self.always
        ]
        return Output(text=told, data={"found": names}, found=tuple(new))

    def _found(self, ctx: ReadonlyContext | None) -> list[str]:
        found = ctx.state.get(self._key(ctx), ()) if ctx is not None else ()
        return list(dict.fromkeys([*self.always, *found]))

    def _key(self, ctx: ReadonlyContext) -> str:
        return f"{self._search_tool.name}:{ctx.agent_name}"

    async def _catalog(self, ctx: ReadonlyContext | None) -> "_Catalog":
        run_id = ctx.run_id if ctx is not None else ""
        known = self._catalogs.get(run_id)
        if known is not None and self.inner.cache_listing:
            return known
        tools = await self.inner.list_tools(ctx)
        before = next(reversed(self._catalogs.values()), None)
        # Most toolsets list the same objects to everyone; then one catalog does for all runs.
        unchanged = before is not None and list(map(id, before.tools)) == list(map(id, tools))
        catalog = before if before is not None and unchanged else _Catalog(tools)
        self._catalogs[run_id] = catalog
        while len(self._catalogs) > _RUNS_REMEMBERED:
            self._catalogs.popitem(last=False)
        return catalog


@dataclass(eq=False)
class _Catalog:
    """What a toolset listed, by name and searchable."""

    tools: list[Tool]

    @cached_property
    def by_name(self) -> dict[str, Tool]:
        return {tool.name: tool for tool in self.tools}

    def found(self, name: str) -> Tool:
        """A tool as one that was found: the same object each time."""
        if name not in self._found:
            self._found[name] = self.by_name[name].replace(is_found=True)
        return self._found[name]

    @cached_property
    def _found(self) -> dict[str, Tool]:
        return {}

    @cached_property
    def ranking(self) -> Ranking:
        return Ranking((tool.name, _indexed(tool)) for tool in self.tools)

    @cached_property
    def tags(self) -> list[str]:
        return list(dict.fromkeys(tag for tool in self.tools for tag in tool.spec.tags))

    def search(self, query: str, tags: Collection[str] | None) -> list[Tool]:
        """The tools that fit, best first; without words in the query, all that have the tags."""
        wanted = {tag.lower() for tag in tags or ()}
        numbers = self.ranking.search(query)
        ranked = [self.tools[n] for n in numbers] if query.strip() else self.tools
        return [t for t in ranked if not wanted or wanted & {tag.lower() for tag in t.spec.tags}]

    def nothing_found(self, query: str, tags: Collection[str] | None) -> str:
        with_tags = f" with one of the tags {', '.join(tags)}" if tags else ""
        known = f" Known tags: {', '.join(self.tags[:30])}." if self.tags else ""
        return f"No tool{with_tags} fits {query!r}; try other words.{known}"


def _indexed(tool: Tool) -> str:
    return f"{' '.join(tool.spec.tags)} {tool.description[:_INDEXED_CHARACTERS]}"


def _defined(name: str, tool: Tool) -> str:
    """All that a model needs to call a tool."""
    schema = json.dumps(tool.spec.parameters, ensure_ascii=False)
    return f"{name}: {tool.spec.description_with_examples}\nArguments (JSON Schema): {schema}"


def _is_on(tool: Tool, ctx: ReadonlyContext) -> bool:
    return tool.is_enabled is None or tool.is_enabled(ctx)


def _call(
    name: Annotated[str, Field(description="The name of the tool.")],
    arguments: Annotated[
        dict[str, Any], Field(description="Its arguments, as its JSON Schema wants them.")
    ],
) -> str:
    """Call a tool that a search for tools has found."""
    # Calls that name a tool are made into calls of that one as soon as the model has replied.
    raise ToolError(f"Call the tool itself: give its name, and not {name!r}.")


_CALL_TOOL = FunctionTool(_call, name=CALL_TOOL)
