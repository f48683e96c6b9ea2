"""Tools by the name of a preset."""

import os
from typing import Literal, get_args

# By unit, not by name: a preset loads, and needs installed, only what its own tools use.
from toolwright import builtin
from toolwright.backends.executors import Executor
from toolwright.errors import UsageError
from toolwright.tools import Tool

__all__ = ["PRESETS", "Preset", "preset_tools"]

Preset = Literal["coding", "readonly", "web", "all", "none"]

PRESETS: dict[Preset, tuple[str, ...]] = {
    "coding": ("read", "bash", "edit", "write"),
    "readonly": ("read", "grep", "find", "ls"),
    "web": ("web_search", "web_fetch"),
    "all": (
        "read", "bash", "edit", "write", "grep", "find", "ls", "web_search", "web_fetch",
    ),
    "none": (),
}  # fmt: skip
"""The names of the tools in each preset."""


def preset_tools(
    preset: Preset = "coding",
    work_dir: str | os.PathLike[str] = ".",
    *,
    executor: Executor | None = None,
    engine: "builtin.SearchEngine | None" = None,
) -> list[Tool]:
    """The tools of a preset.

    Args:
        preset: `coding` (read, bash, edit, write), `readonly` (read, grep, find, ls), `web`
            (web_search, web_fetch), `all` of these, or `none`.
        work_dir: The directory of the file tools, which they cannot leave.
        executor: Where `bash` runs its commands; the best sandbox that works here, unless given.
        engine: What `web_search` searches with; DuckDuckGo unless given.
    """
    if preset not in PRESETS:
        raise UsageError(f"{preset!r} is not a preset; there are: {', '.join(get_args(Preset))}.")
    wanted = PRESETS[preset]
    made: list[Tool] = []
    if "read" in wanted:
        made += builtin.workspace_tools(work_dir, executor=executor)
    if "web_fetch" in wanted:
        made += builtin.web_tools(engine=engine)
    by_name = {tool.name: tool for tool in made}
    return [by_name[name] for name in wanted]
