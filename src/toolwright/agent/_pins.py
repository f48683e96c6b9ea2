"""Remember with the session how tools from outside were, and ask again when one is not so any more."""

from collections.abc import Iterable, Sequence
from typing import Any

from toolwright.messages import StateChanged
from toolwright.tools import (
    PINNED,
    Decision,
    RunInside,
    State,
    Tool,
    ToolContext,
    difference,
)

__all__ = ["accept", "change_of", "pin_listed", "pin_used"]

_NOT_READ_YET = ""
"""For an operation of a large document, whose schema is worked out only when it is used."""


def pin_listed(run: Any, outside: Sequence[Tool]) -> None:
    """Note which tools each server has, the first time that the session sees it."""
    delta: dict[str, Any] = {}
    for source in dict.fromkeys(tool.source for tool in outside):
        if f"{PINNED}{source}" not in run.table.values:
            listed = [tool for tool in outside if tool.source == source]
            State(run.table, delta).note(f"{PINNED}{source}", _marks(listed))
    if delta:
        run.emit(StateChanged, delta=delta)


def change_of(run: RunInside, tool: Tool) -> Decision | None:
    """The question to ask about a tool that is new or not as it was; None when it is as it was."""
    known = run.table.values.get(f"{PINNED}{tool.source}")
    used = run.table.values.get(_key(run, tool))
    if used is not None:
        if used == tool.definition:
            return None
        lines = difference(used, tool.definition)
        said = "is not as it was when this session used it"
    elif known is None or known.get(tool.name) in (_NOT_READ_YET, tool.fingerprint):
        return None
    elif tool.name in known:
        lines, said = [], "is not as it was when this session first saw it"
    else:
        lines, said = [], f"is new: {tool.source} did not have it when this session began"
    return Decision(
        verdict="ask",
        reason=_reason(tool, said, lines),
        payload={"source": tool.source, "changes": lines},
        rule="the session's pinned tools",
    )


def pin_used(ctx: ToolContext, tool: Tool) -> None:
    """Note how a tool is that is used for the first time."""
    if _key(ctx.run, tool) not in ctx.run.table.values:
        ctx.state.note(_key(ctx.run, tool), tool.definition)


def accept(ctx: ToolContext, tool: Tool, listed: Iterable[Tool] | None) -> None:
    """Take the tool as it is now; with `listed`, all tools of its source among these."""
    key = f"{PINNED}{tool.source}"
    others = [other for other in listed or () if other.source == tool.source]
    known = ctx.run.table.values.get(key) or {}
    ctx.state.note(key, {**known, **_marks([*others, tool])})
    for other in (*others, tool):
        if other is tool or _key(ctx.run, other) in ctx.run.table.values:
            ctx.state.note(_key(ctx.run, other), other.definition)


def _key(run: RunInside, tool: Tool) -> str:
    """By path and name: a tool of that name from another server is another tool."""
    return f"{PINNED}|{'/'.join(run.names)}|{tool.name}"


def _marks(tools: Iterable[Tool]) -> dict[str, str]:
    return {
        tool.name: _NOT_READ_YET if tool.source.startswith("openapi:") else tool.fingerprint
        for tool in tools
    }


def _reason(tool: Tool, said: str, lines: Sequence[str]) -> str:
    shown = [f"- {line}" for line in lines] or [f"It says of itself: {tool.description!r}"]
    return "\n".join([f"{tool.name!r} {said}.", *shown, "Allow it as it is now?"])
