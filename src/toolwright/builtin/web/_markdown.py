"""Turn an HTML page into Markdown that is worth reading."""

from pathlib import Path

from toolwright.builtin.web import _conversion
from toolwright.builtin.web._elsewhere import read_elsewhere
from toolwright.concurrency import in_io_thread

__all__ = ["read_page", "to_markdown"]

_CONVERTER = Path(_conversion.__file__).read_text(encoding="utf-8")
_SHORT = 16_384
"""Letters of a page that is converted in some hundredths of a second, however it is made."""


async def to_markdown(html: str, url: str) -> str:
    """The page's content: headings, lists, tables, code and links, the latter made absolute.

    The main part alone, where the page marks one. Images become `[Image: their description]`.
    Raises `ToolError` for a page that takes too long.
    """
    return (await read_page(html, url))[1]


async def read_page(html: str, url: str) -> tuple[str, str]:
    """What the page calls itself, or '', and its content."""
    if len(html) <= _SHORT:
        return await in_io_thread(_read, html, url, abandon_on_cancel=True)
    program = [_CONVERTER, _conversion.LIBRARY]
    title, _, text = (await read_elsewhere(program, url, html)).decode().partition("\n")
    return title, text


def _read(html: str, url: str) -> tuple[str, str]:
    return _conversion.page_title(html), _conversion.readable(html, url)
