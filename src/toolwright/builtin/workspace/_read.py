"""`read`: a file's text, in pages."""

from toolwright.backends import format_size
from toolwright.backends.files import (
    Files,
    FilesystemBackend,
    cut_page,
    fitting,
    is_binary,
    read_text,
    split_lines,
)
from toolwright.builtin._images import image_part
from toolwright.builtin._seen import SeenVersions
from toolwright.builtin.shell import OutputFolder
from toolwright.builtin.workspace._paths import WorkspacePaths
from toolwright.errors import ToolError
from toolwright.messages import BlobPart
from toolwright.tools import ToolContext

__all__ = ["ReadTool"]

_MAX_LINES = 2000
_MAX_BYTES = 50 * 1024
_NOTE_BYTES = 200
"""Room for the note below a page, within the limit."""


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
            return _page(kept.data, offset, limit)
        inner = self._paths.inner(path)
        loaded = await self._files.read(inner)
        self._seen.note(tool_context, inner, loaded.version)
        if (image := image_part(inner, loaded.data)) is not None:
            return image
        if is_binary(loaded.data):
            size = format_size(len(loaded.data))
            raise ToolError(f"{path!r} is a binary file of {size} and cannot be read as text.")
        return _page(loaded.data, offset, limit)


def _page(data: bytes, offset: int, limit: int) -> str:
    text = read_text(data).text
    lines = split_lines(text)
    if offset < 1 or limit < 1:
        raise ToolError(f"offset and limit count from 1; got offset={offset}, limit={limit}.")
    if offset > max(len(lines), 1):
        raise ToolError(
            f"offset {offset} is past the end of the file, which has {len(lines)} lines."
        )
    page = lines[offset - 1 : offset - 1 + min(limit, _MAX_LINES - 2)]
    page = page[: fitting(page, _MAX_BYTES - _NOTE_BYTES)]
    last = offset - 1 + len(page)
    if last == len(lines) and offset == 1 and len(data) < _MAX_BYTES:
        return text
    shown, left_out = cut_page("\n".join(page), _MAX_BYTES - _NOTE_BYTES)
    note = f"Lines {offset}-{last} of {len(lines)}, {format_size(len(data))} in all."
    if left_out:
        note += f" This line goes on for {left_out} characters; use grep in it."
    if last < len(lines):
        note += f" Use offset={last + 1} to continue."
    return f"{shown}\n[{note}]"
