"""`write_file` and `edit_file`."""

from collections.abc import Callable
from typing import Any

from toolwright.backends.files import ABSENT, Edit, Files, PathLocks, edited, virtual_path
from toolwright.builtin._seen import SeenVersions
from toolwright.errors import ToolError
from toolwright.tools import ToolContext

__all__ = ["ChangingTools"]


class ChangingTools:
    """Tools that change files, one call at a time for each path."""

    def __init__(self, files_for: Callable[[ToolContext], Files], seen: SeenVersions) -> None:
        self._files_for = files_for
        self._seen = seen
        self._locks = PathLocks(f"tools:{id(self)}")

    async def write_file(
        self, file_path: str, content: str, tool_context: ToolContext
    ) -> dict[str, Any]:
        """Create a new file. An existing file is not overwritten: use edit_file to change it.

        Args:
            file_path: The absolute path of the new file.
            content: What to write to it.
        """
        path = virtual_path(file_path)
        files = self._files_for(tool_context)
        try:
            version = await files.write(path, content.encode(), expected=ABSENT)
        except FileExistsError:
            raise ToolError(f"File already exists: {path}. Use edit_file to modify.") from None
        self._seen.note(tool_context, path, version)
        return {"status": "success", "path": path}

    async def edit_file(
        self,
        file_path: str,
        old_string: str,
        new_string: str,
        tool_context: ToolContext,
        replace_all: bool = False,
    ) -> dict[str, Any]:
        """Replace a piece of text in a file. It must be unique, unless all places are meant.

        Args:
            file_path: The absolute path of the file.
            old_string: The exact text to replace.
            new_string: The text to put in its place.
            replace_all: Replace every occurrence.
        """
        path = virtual_path(file_path)
        files = self._files_for(tool_context)
        edit = Edit(old=old_string, new=new_string, replace_all=replace_all, all_name="replace_all")
        async with self._locks.hold(path):
            loaded = await files.read(path)
            self._seen.demand_current(tool_context, path, loaded.version)
            done = await edited(loaded.data, edit)
            version = await files.write(path, done.data, expected=loaded.version)
        self._seen.note(tool_context, path, version)
        answer = {"status": "success", "path": path, "occurrences": done.occurrences}
        return answer if done.how == "exact" else {**answer, "matched_despite": done.how}
