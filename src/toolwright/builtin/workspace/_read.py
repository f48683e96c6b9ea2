"""`read`: a file's text, in pages."""

from toolwright.backends import (
    DEFAULT_MAX_BYTES,
    DEFAULT_MAX_LINES,
    first_bytes,
    fitting,
    format_size,
)
from toolwright.backends.files import (
    Files,
    FilesystemBackend,
    in_thread_if_long,
    is_binary,
    read_text,
)
from toolwright.builtin._images import image_part
from toolwright.builtin._seen import SeenVersions
from toolwright.builtin.shell import OutputFolder
from toolwright.builtin.workspace._paths import WorkspacePaths
from toolwright.errors import ToolError
from toolwright.messages import BlobPart
from toolwright.tools import MaxOutput, ToolContext

__all__ = ["PAGE_AND_NOTE", "ReadTool"]

_MAX_LINES = DEFAULT_MAX_LINES
_MAX_BYTES = DEFAULT_MAX_BYTES
_NOTE_BYTES = 200
"""Room for the note below a page, within the limit."""
PAGE_AND_NOTE = MaxOutput(lines=_MAX_LINES + 1)
"""What the tool answers at most, so that its answer is never cut twice."""


class ReadTool:
    """Reads files of a working directory."""

    def __init__(
        self, files: Files, paths: WorkspacePaths, seen: SeenVersions, outputs: OutputFolder
    ) -> None:
        self._files = files
        self._paths = paths
        self._seen = seen
        self._outputs = outputs

    async def read(
        self,
        path: str,
        tool_context: ToolContext,
        offset: int = 1,
        limit: int = _MAX_LINES,
    ) -> str | BlobPart:
        """Read a file. Long files are read in pages; images are shown as images.

        Args:
            path: The file, absolute or relative to the working directory.
            offset: The line to start from, counted from 1.
            limit: How many lines to read at most.
        """
        if (output := self._outputs.find(path)) is not None:
            kept = await FilesystemBackend(output.parent).read(f"/{output.name}")
            return await in_thread_if_long(len(kept.data), _page, path, kept.data, offset, limit)
        inner = self._paths.inner(path)
        loaded = await self._files.read(inner)
        self._seen.note(tool_context, inner, loaded.version)
        if (image := image_part(inner, loaded.data)) is not None:
            return image
        return await in_thread_if_long(len(loaded.data), _page, path, loaded.data, offset, limit)


def _page(path: str, data: bytes, offset: int, limit: int) -> str:
    if is_binary(data):
        size = format_size(len(data))
        raise ToolError(f"{path!r} is a binary file of {size} and cannot be read as text.")
    if offset < 1 or limit < 1:
        raise ToolError(f"offset and limit count from 1; got offset={offset}, limit={limit}.")
    text = read_text(data).rope
    page, total = text.page(offset - 1, min(limit, _MAX_LINES))
    if offset > max(total, 1):
        raise ToolError(f"offset {offset} is past the end of the file, which has {total} lines.")
    page = page[: max(1, fitting(page, _MAX_BYTES - _NOTE_BYTES))]
    last = offset - 1 + len(page)
    if last == total and offset == 1 and len(data) < _MAX_BYTES:
        return str(text)
    whole = "\n".join(page)
    shown = first_bytes(whole, _MAX_BYTES - _NOTE_BYTES)
    left_out = len(whole) - len(shown)
    note = f"Lines {offset}-{last} of {total}, {format_size(len(data))} in all."
    if left_out:
        note += f" This line goes on for {left_out} characters; use grep in it."
    if last < total:
        note += f" Use offset={last + 1} to continue."
    return f"{shown}\n[{note}]"
