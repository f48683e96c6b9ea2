"""Remember with the session what its sources of tools had, and ask when a tool is not as it was.

A source is pinned as a whole, the first time that the session lists any of it: the mark of each of
its tools, whether filters, searches or code mode hide them or not. A tool that is used is kept with
its whole definition, so that the question about a change can show it. Beside that each path of
agents has the sources that it knows: one that takes the place of another is asked about, too. Of
skills the session has the marks that it saw first; their toolset asks about those that moved.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from toolwright.concurrency import in_io_thread
from toolwright.errors import ToolError, UsageError
from toolwright.tools import (
    PINNED,
    Decision,
    RunInside,
    State,
    Tool,
    ToolContext,
    Toolset,
    difference,
    digest_of,
    each_by_name,
    files_seen,
    pinned_files,
)

__all__ = ["accept", "change_of", "note_asked", "pin_listed", "pin_used"]


async def pin_listed(run: Any, outside: Sequence[Tool], toolsets: Sequence[Toolset]) -> None:
    """Note all that the sources of these tools have, the first time that the session sees them."""
    values = run.table.values
    known = values.get(_at(run))
    listed = {_key(tool): tool for tool in outside}
    if known is None or not listed.keys() <= known.keys():
        hidden = await _hidden(run, toolsets)
        outside = (*outside, *hidden)
        listed = {_key(tool): tool for tool in hidden} | listed
    marks = {
        key: await in_io_thread(_marks, outside, key)
        for key, tool in listed.items()
        if _listed_key(key) not in values and not tool.placeholder
    }
    state = State(run.table)
    for key, found in marks.items():
        if _listed_key(key) not in values:  # Another branch may have noted it meanwhile.
            state.note(_listed_key(key), found)
    # One that comes while another has gone, or with its names, may stand in for it: that is for a
    # person to say.
    if listed and (known is None or listed.keys() > known.keys()):
        listed = {key: tool for key, tool in listed.items() if not _takes_names(run, key, known)}
        state.note(_at(run), {key: tool.source for key, tool in listed.items()})
    if toolsets and pinned_files(run.names) not in values and (files := await _files(toolsets)):
        known = files_seen(values)
        first = {name: mark for name, mark in files.items() if name.partition(" (")[0] not in known}
        state.note(pinned_files(run.names), first)
    run.keep_state(state)


async def _files(toolsets: Sequence[Toolset]) -> dict[str, str]:
    """A mark of each skill."""
    found = []
    for toolset in toolsets:
        try:
            found.append(await toolset.file_digests())
        except (ToolError, UsageError, OSError):
            continue  # Whoever uses them is told.
    named = each_by_name(pair for digests in found for pair in digests.items())
    skills = ((name, digests) for name, digests in named if name.startswith("skill:"))
    return {name: digest_of(digests) for name, digests in skills}


def _takes_names(run: Any, key: str, known: Mapping[str, str] | None) -> bool:
    """Whether a source that is new here has a name that another had before it came."""
    if known is None or key in known:
        return False
    values = run.table.values
    names = values.get(_listed_key(key), {}).keys()
    return any(names & values.get(_listed_key(other), {}).keys() for other in known)


async def _hidden(run: Any, toolsets: Sequence[Toolset]) -> list[Tool]:
    found: list[Tool] = []
    for toolset in toolsets:
        if toolset.is_local:
            continue
        try:
            found += await toolset.hidden_tools(run.readonly)
        except (ToolError, UsageError):
            continue  # Whoever looks for them is told; they are noted when they come into view.
    return [tool for tool in found if tool.source]


def change_of(run: RunInside, tool: Tool) -> Decision | None:
    """The question to ask about a tool that is new or not as it was; None when it is as it was."""
    if tool.placeholder:
        return None
    values, key, now = run.table.values, _key(tool), _original(tool)
    used = values.get(_used_key(key, now))
    listed = values.get(_listed_key(key))
    here = values.get(_at(run))
    if used is not None:
        lines = difference(used, _definition(now))
        if not lines:
            return None
        said = "is not as it was when this session used it"
    elif here is not None and key not in here:
        lines = _moved(run, here, now)
        said = f"comes from {tool.source}, which this session did not know when it began"
    elif listed is None or (tool.listing is None and now.name_there not in listed):
        return None
    elif now.name_there not in listed:
        lines, said = [], f"is new: {tool.source} did not offer it when this session began"
    elif listed[now.name_there] == now.mark:
        return None
    else:
        lines, said = [], "is not as it was when this session first saw it"
    return Decision(
        verdict="ask",
        reason=_reason(tool, said, lines),
        payload={"source": tool.source, "changes": lines},
        rule="the session's pinned tools",
        about=digest_of(now.definition),
    )


def pin_used(ctx: ToolContext, tool: Tool) -> None:
    """Note how a tool is that is used for the first time, and what else its source has."""
    values, key, now = ctx.run.table.values, _key(tool), _original(tool)
    if tool.placeholder or values.get(_used_key(key, now)) is not None:
        return
    known = values.get(_listed_key(key), {})
    if now.name_there not in known:
        ctx.state.note(_listed_key(key), {**_marks([tool], key), **known})
    ctx.state.note(_used_key(key, now), _definition(now))


def note_asked(ctx: ToolContext, tool: Tool) -> str:
    """Note all that its source has while a person is asked about the tool; a digest of it."""
    marks = {} if tool.listing is None else tool.listing.marks()
    state = digest_of(marks)
    ctx.state.note(_asked_key(_key(tool)), {"state": state, "marks": marks})
    return state


def accept(ctx: ToolContext, tool: Tool, *, as_asked: str | None = None) -> None:
    """Take the tool as it is now; with `as_asked`, the state of its source that a question has shown,
    all tools of that. A yes is to what there was to see: not where there is something else by now.
    """
    values, key, now = ctx.run.table.values, _key(tool), _original(tool)
    taken = {now.name_there: now}
    shown = _marks_shown(tool, values.get(_asked_key(key)), as_asked)
    if shown is not None and tool.listing is not None:
        taken = {**tool.listing.tools, **taken}
    marks = {**(shown or {}), **{name: t.mark for name, t in taken.items()}}
    ctx.state.note(_listed_key(key), {**values.get(_listed_key(key), {}), **marks})
    for other in taken.values():
        if other is now or _used_key(key, other) in values:
            ctx.state.note(_used_key(key, other), _definition(other))
    for name in marks.keys() - taken.keys():
        # It is not there now, and was taken by its mark: how it was used before counts no more.
        ctx.state.note(_used_name(key, name), None)
    here = values.get(_at(ctx.run))
    if shown is not None and here is not None:
        ctx.state.note(_at(ctx.run), {**here, key: tool.source})


def _marks_shown(
    tool: Tool, noted: Mapping[str, Any] | None, state: str | None
) -> Mapping[str, str] | None:
    """What its source had in that state, if all that it has now is of it."""
    if noted is None or noted["state"] != state:
        return None
    now, shown = {} if tool.listing is None else tool.listing.marks(), noted["marks"]
    return shown if now.items() <= shown.items() else None


def _moved(run: RunInside, here: dict[str, str], now: Tool) -> list[str]:
    """What is different from the tool of that name which a source had that the session knows."""
    for key, source in here.items():
        used = run.table.values.get(_used_key(key, now))
        if used is not None:
            return difference(used, _definition(now))
        if now.name_there in run.table.values.get(_listed_key(key), {}):
            return difference({**_definition(now), "source": source}, _definition(now))
    return []


# -- keys and values ------------------------------------------------------------------------------


def _original(tool: Tool) -> Tool:
    """As its source made it: what the program calls it, and how it wraps it, is the program's."""
    return tool.original or tool


def _key(tool: Tool) -> str:
    return tool.source if tool.listing is None else tool.listing.key


def _listed_key(key: str) -> str:
    return f"{PINNED}source:{key}"


def _asked_key(key: str) -> str:
    return f"{PINNED}asked:{key}"


def _used_key(key: str, original: Tool) -> str:
    return _used_name(key, original.name_there)


def _used_name(key: str, name: str) -> str:
    return f"{PINNED}tool:{key}|{name}"


def _at(run: RunInside) -> str:
    return f"{PINNED}at:{'/'.join(run.names)}"


def _marks(tools: Iterable[Tool], key: str) -> dict[str, str]:
    """All that a source has by what these tools know of it; the first that was listed counts."""
    mine = [tool for tool in tools if _key(tool) == key and not tool.placeholder]
    listings = {id(tool.listing): tool.listing for tool in mine if tool.listing is not None}
    chosen = [_original(tool) for tool in mine if tool.listing is None]
    found = {tool.name_there: tool.mark for tool in chosen}
    for listing in reversed(listings.values()):
        found |= listing.marks()
    return found


def _definition(original: Tool) -> dict[str, Any]:
    """Without the name, which two toolsets with different prefixes differ in."""
    return {part: said for part, said in original.definition.items() if part != "name"}


def _reason(tool: Tool, said: str, lines: Sequence[str]) -> str:
    shown = [f"- {line}" for line in lines] or [f"It says of itself: {tool.description!r}"]
    return "\n".join([f"{tool.name!r} {said}.", *shown, "Allow it as it is now?"])
