"""`ls` and `read_file`."""

import base64
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

from pydantic_core import to_json

from toolwright.backends import first_bytes, fitting, format_size
from toolwright.backends.files import (
    Entry,
    Files,
    in_thread_if_long,
    is_binary,
    numbered,
    read_text,
    virtual_path,
)
from toolwright.builtin._images import image_part
from toolwright.builtin._seen import SeenVersions
from toolwright.errors import ToolError
from toolwright.messages import BlobPart
from toolwright.tools import Output, ToolContext

__all__ = ["MAX_ENTRIES", "LookingTools", "listing"]

_PAGE_BYTES = 40_000
"""Of a page before it is written as JSON, which may lengthen it."""
MAX_ENTRIES = 300


class LookingTools:
    """Tools that show what is there."""

    def __init__(self, files_for: Callable[[ToolContext], Files], seen: SeenVersions) -> None:
        self._files_for = files_for
        self._seen = seen

    async def ls(self, path: str, tool_context: ToolContext) -> dict[str, Any]:
        """List the files and directories at a path.

        Args:
            path: The absolute path to list; it starts with "/".
        """
        return listing(await self._files_for(tool_context).ls(virtual_path(path)))

    async def read_file(
        self, file_path: str, tool_context: ToolContext, offset: int = 0, limit: int = 2000
    ) -> dict[str, Any] | Output:
        """Read a file with line numbers. Images are shown as images.

        Args:
            file_path: The absolute path of the file.
            offset: The line to start from, counted from 0.
            limit: How many lines to read at most.
        """
        path = virtual_path(file_path)
        loaded = await self._files_for(tool_context).read(path)
        self._seen.note(tool_context, path, loaded.version)
        if (image := image_part(path, loaded.data)) is not None:
            return _image(image)
        content = await in_thread_if_long(len(loaded.data), _page, path, loaded.data, offset, limit)
        return {"status": "success", "content": content}


def listing(entries: Sequence[Entry], total: int | None = None) -> dict[str, Any]:
    """Entries as the model is shown them, the first of `total`."""
    shown = [_shown(entry) for entry in entries[:MAX_ENTRIES]]
    answer: dict[str, Any] = {"status": "success", "entries": shown}
    there_are = len(entries) if total is None else total
    if there_are > MAX_ENTRIES:
        answer["note"] = (
            f"The first {MAX_ENTRIES} of {there_are} entries; use a narrower path or pattern."
        )
    return answer


def _shown(entry: Entry) -> dict[str, Any]:
    shown = asdict(entry)
    return shown if entry.is_link else {key: shown[key] for key in shown if key != "is_link"}


def _page(path: str, data: bytes, offset: int, limit: int) -> str:
    if is_binary(data):
        size = format_size(len(data))
        raise ToolError(f"Error: {path} is a binary file of {size} and cannot be shown.")
    if offset < 0 or limit < 1:
        raise ToolError(f"Error: offset must be 0 or more and limit 1 or more: {offset}, {limit}")
    lines, total = read_text(data).rope.page(offset, limit)
    if offset >= total and offset > 0:
        raise ToolError(f"Error: offset {offset} is past the end of the file ({total} lines)")
    rendered = numbered(lines, offset + 1)
    rendered = rendered[: max(1, fitting(rendered, _PAGE_BYTES))]
    following = offset + len(rendered)
    whole = "\n".join(rendered)
    page = first_bytes(whole, _PAGE_BYTES)
    left_out = len(whole) - len(page)
    if left_out:
        page += f"\n... (the line has {left_out} more characters; use grep in it)"
    if following == total:
        return page
    rest = total - following
    return f"{page}\n... ({rest} more lines. Use offset={following} to continue reading)"


def _image(image: BlobPart) -> Output:
    content = {"type": "image", "media_type": image.media_type}
    answer = {"status": "success", "content": content}
    whole = {**content, "data": base64.b64encode(image.data or b"").decode("ascii")}
    return Output(
        text=to_json(answer).decode(),
        parts=(image,),
        value={"status": "success", "content": whole},
    )
