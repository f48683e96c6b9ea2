"""Files that are put before the model each turn: house rules, notes to itself."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from toolwright.backends.files import Files
from toolwright.models import ModelRequest
from toolwright.tools import ReadonlyContext

__all__ = ["MemoryFiles"]


@dataclass(frozen=True, slots=True)
class MemoryFiles:
    """Adds the text of `paths` to the instructions; one that does not exist yet is left out."""

    paths: tuple[str, ...]
    files: Callable[[Any], Files]

    async def shape_request(self, ctx: ReadonlyContext, request: ModelRequest) -> ModelRequest:
        """The request with the files' text at the end of its instructions."""
        found = []
        for path in self.paths:
            try:
                loaded = await self.files(ctx).read(path)
            except FileNotFoundError:
                continue
            found.append(f'<file path="{path}">\n{loaded.data.decode(errors="replace")}\n</file>')
        if not found:
            return request
        return replace(request, instructions="\n\n".join([request.instructions, *found]))
