"""Turn an HTML page into Markdown that is worth reading."""

import html as entities
import re
from pathlib import Path

from toolwright.builtin.web import _conversion
from toolwright.builtin.web._elsewhere import read_elsewhere
from toolwright.concurrency import in_io_thread

__all__ = ["page_title", "to_markdown"]

_CONVERTER = Path(_conversion.__file__).read_text(encoding="utf-8")
_SHORT = 16_384
"""Letters of a page that is converted in some hundredths of a second, however it is made."""
_ENOUGH = 200
"""Characters that make a page's main part worth showing without the rest."""
# Each of these reads a page once, however it is broken: none can look past the next tag.
_MAIN_BEGINS = re.compile(r"<main\b", re.IGNORECASE)
_MAIN_ENDS = re.compile(r"</main\b", re.IGNORECASE)
_TITLE = re.compile(r"<title\b[^<>]*>([^<]*)</title", re.IGNORECASE)
_IMAGE = re.compile(r"<img\b[^<>]*>", re.IGNORECASE)
_ALT = re.compile(r"""\balt\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]+))""", re.IGNORECASE)
_CODE_OR_LINK = re.compile(r"<(/?)(pre|a)\b[^<>]*>", re.IGNORECASE)
_NESTING = re.compile(
    r"<(/?)(?:div|span|section|article|blockquote|center|font|b|i|em|strong)\b[^<>]*>",
    re.IGNORECASE,
)
_DEEPEST = 500
"""Nested so deep, nothing has a meaning any more; the converter drops what is much deeper."""
_ANCHOR = re.compile(r"(^#+ .*?)\s?\[[§#¶]\]\([^)\s]{0,500}\)", re.MULTILINE)


def page_title(html: str) -> str:
    """What the page calls itself, or ''."""
    found = _TITLE.search(html)
    return " ".join(entities.unescape(found.group(1)).split()) if found else ""


async def to_markdown(html: str, url: str) -> str:
    """The page's content: headings, lists, tables, code and links, the latter made absolute.

    The main part alone, where the page marks one. Images become `[Image: their description]`.
    Raises `ToolError` for a page that takes too long.
    """
    main = await in_io_thread(_main_part, html, abandon_on_cancel=True)
    text = await _converted(main, url) if main else ""
    return text if len(text) >= _ENOUGH else await _converted(html, url)


def _main_part(html: str) -> str:
    begin = _MAIN_BEGINS.search(html)
    ends = [end.start() for end in _MAIN_ENDS.finditer(html)]
    return html[begin.start() : ends[-1]] if begin and ends else ""


async def _converted(html: str, url: str) -> str:
    html = await in_io_thread(_prepared, html, abandon_on_cancel=True)
    if len(html) <= _SHORT:
        text = await in_io_thread(_conversion.converted, html, url, abandon_on_cancel=True)
    else:
        program = [_CONVERTER, _conversion.LIBRARY]
        text = (await read_elsewhere(program, url, html)).decode()
    return await in_io_thread(_tidied, text, abandon_on_cancel=True)


def _prepared(html: str) -> str:
    return _IMAGE.sub(_described, _without_links_in_code(_flattened(html)))


def _tidied(text: str) -> str:
    return _ANCHOR.sub(r"\1", text).strip()


def _flattened(html: str) -> str:
    """The page without the tags that are nested deeper than anybody means."""
    depth = 0

    def keep(tag: re.Match[str]) -> str:
        nonlocal depth
        depth = max(0, depth - 1) if tag.group(1) else depth + 1
        return tag.group() if depth + bool(tag.group(1)) <= _DEEPEST else " "

    return _NESTING.sub(keep, html)


def _without_links_in_code(html: str) -> str:
    """A link in the middle of code would be read as code."""
    depth = 0

    def keep(tag: re.Match[str]) -> str:
        nonlocal depth
        if tag.group(2).lower() == "a":
            return "" if depth else tag.group()
        depth = max(0, depth - 1) if tag.group(1) else depth + 1
        return tag.group()

    return _CODE_OR_LINK.sub(keep, html)


def _described(tag: re.Match[str]) -> str:
    alt = _ALT.search(tag.group())
    words = " ".join((next(filter(None, alt.groups()), "") if alt else "").split())
    return f"[Image: {words}]" if words else ""
