"""`write` and `edit`: change files of a working directory."""

from toolwright.backends import format_size
from toolwright.backends.files import ABSENT, Edit, Edited, Files, PathLocks, edited
from toolwright.builtin._seen import SeenVersions
from toolwright.builtin.workspace._paths import WorkspacePaths
from toolwright.tools import Output, ToolContext

__all__ = ["WriteTools"]


class WriteTools:
    """Tools that change files, one call at a time for each path."""

    def __init__(self, files: Files, paths: WorkspacePaths, seen: SeenVersions) -> None:
        self._files = files
        self._paths = paths
        self._seen = seen
        self._locks = PathLocks(f"tools:{id(self)}")

    async def write(self, path: str, content: str, tool_context: ToolContext) -> str:
        """Create a file, or overwrite it completely. Missing directories are created.

        Args:
            path: The file to write.
            content: The whole content of the file.
        """
        inner = self._paths.inner(path)
        data = content.encode()
        async with self._locks.hold(inner):
            current = await self._current_version(inner, tool_context)
            version = await self._files.write(inner, data, expected=current)
        self._seen.note(tool_context, inner, version)
        done = "Created" if current == ABSENT else "Overwrote"
        return f"{done} {self._paths.shown(inner)} ({format_size(len(data))})."

    async def edit(
        self, path: str, old_text: str, new_text: str, tool_context: ToolContext
    ) -> Output:
        """Replace a piece of text in a file. The text must be there exactly once.

        Args:
            path: The file to edit.
            old_text: The exact text to replace, whitespace included.
            new_text: The text to put in its place.
        """
        inner = self._paths.inner(path)
        edit = Edit(old=old_text, new=new_text, old_name="old_text", new_name="new_text")
        async with self._locks.hold(inner):
            loaded = await self._files.read(inner)
            self._seen.demand_current(tool_context, inner, loaded.version)
            done = await edited(loaded.data, edit)
            version = await self._files.write(inner, done.data, expected=loaded.version)
        self._seen.note(tool_context, inner, version)
        return _told(self._paths.shown(inner), edit, done)

    async def _current_version(self, inner: str, ctx: ToolContext) -> str:
        try:
            version = (await self._files.read(inner)).version
        except FileNotFoundError:
            return ABSENT
        self._seen.demand_current(ctx, inner, version)
        return version


def _told(path: str, edit: Edit, done: Edited) -> Output:
    how = "" if done.how == "exact" else f" The text was found by overlooking {done.how}."
    return Output(
        text=f"Edited {path} at line {done.first_line}.{how}",
        data={
            "path": path,
            "line": done.first_line,
            "removed": edit.old,
            "added": edit.new,
        },
    )
