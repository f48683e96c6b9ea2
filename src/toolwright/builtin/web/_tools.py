"""`web_search` and `web_fetch`."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

from pydantic import Field

from toolwright.backends import DEFAULT_MAX_LINES, Fetch, Fetched, format_size, truncate_head
from toolwright.builtin.web._duckduckgo import DuckDuckGo
from toolwright.builtin.web._engine import SearchEngine, SearchResult
from toolwright.builtin.web._markdown import read_page, to_markdown
from toolwright.concurrency import in_io_thread
from toolwright.errors import ToolError
from toolwright.messages import BlobPart
from toolwright.tools import FunctionTool, MaxOutput, Tool

__all__ = ["web_tools"]

_MAX_BYTES = 102_400
_DEFAULT_BYTES = 51_200
_ROOM = MaxOutput(bytes=_MAX_BYTES + 4096, lines=_MAX_BYTES)
"""Above the tool's own limit, so that its answer is never cut twice."""
_EXCERPT_BYTES = 20_000
_HTML = ("text/html", "application/xhtml+xml")
_TEXT = ("text/", "application/json", "application/xml", "application/javascript",
         "application/yaml", "application/toml", "application/x-ndjson")  # fmt: skip
_IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")


def web_tools(
    *,
    engine: SearchEngine | None = None,
    allow_private: Sequence[str] = (),
    fetch: Fetch | None = None,
) -> list[Tool]:
    """`web_search` and `web_fetch`.

    Args:
        engine: What to search with; DuckDuckGo, which needs no key, unless another is given.
        allow_private: Hosts and networks that may be fetched though they are not public.
        fetch: How pages are fetched: its limits of size and time.
    """
    reader = fetch or Fetch(allow_private=allow_private)
    searcher = engine or DuckDuckGo(reader)

    async def web_search(
        query: str, max_results: Annotated[int, Field(ge=1, le=20)] = 10
    ) -> tuple[str, list[SearchResult]]:
        """Search the web; gives titles, addresses and snippets.

        Args:
            query: What to search for.
            max_results: How many results at most.
        """
        results = await searcher.search(query, max_results)
        return _listed(results) or f"No results for {query!r}.", results

    async def web_fetch(
        url: str,
        max_bytes: Annotated[int, Field(ge=1, le=_MAX_BYTES)] = _DEFAULT_BYTES,
        offset: Annotated[int, Field(ge=0)] = 0,
    ) -> str | BlobPart:
        """Read a web page as Markdown; other text as it is, and images as images.

        Args:
            url: The address.
            max_bytes: How much text to return at most.
            offset: The character to start from; a long page says with which one to go on.
        """
        page = await reader.get(url)
        if page.status >= 400:
            start = replace(page, data=page.data[:_EXCERPT_BYTES], truncated=True)
            excerpt = await _excerpt(start)
            raise ToolError(f"{page.url} answered with status {page.status}.{excerpt}")
        if page.content_type in _IMAGES and not page.truncated:
            return BlobPart(media_type=page.content_type, data=page.data)
        text = await _readable(page)
        return _cut(text, max_bytes, offset, page)

    return [
        FunctionTool(web_search, effects="read", idempotent=True, trust="untrusted"),
        FunctionTool(
            web_fetch, effects="read", idempotent=True, max_output=_ROOM, trust="untrusted"
        ),
    ]


def _listed(results: Sequence[SearchResult]) -> str:
    return "\n\n".join(
        f"{number}. {result.title}\n   {result.url}\n   {result.snippet}".rstrip()
        for number, result in enumerate(results, start=1)
    )


async def _readable(page: Fetched) -> str:
    """The page as text; its whole content is converted, whatever is cut later."""
    text = await in_io_thread(_decoded, page, abandon_on_cancel=True)
    if not _is_html(page):
        return text
    title, content = await read_page(text, page.url)
    heading = f"{title}\n{page.url}\n\n" if title else f"{page.url}\n\n"
    return heading + content


def _is_html(page: Fetched) -> bool:
    return page.content_type in _HTML or (not page.content_type and b"<html" in page.data[:1024])


def _decoded(page: Fetched) -> str:
    is_text = page.content_type.startswith(_TEXT) or page.content_type.endswith(("+json", "+xml"))
    text = page.text if is_text or not page.content_type else "\0"
    if "\0" not in text[:4096] or _is_html(page):
        return text
    raise ToolError(
        f"{page.url} is {page.content_type or 'of no known type'} "
        f"({format_size(len(page.data))}), which cannot be read as text."
    )


def _cut(text: str, max_bytes: int, offset: int, page: Fetched) -> str:
    if offset and offset >= len(text):
        raise ToolError(f"offset {offset} is past the end of the page ({len(text)} characters).")
    kept = truncate_head(text[offset:], max_bytes)
    notes: list[str] = []
    if kept.truncated:
        end = offset + kept.kept
        by_lines = kept.cut_by == "lines"
        if by_lines:  # What comes next is the end of the last line.
            end += 2 if text.startswith("\r\n", end) else text.startswith(("\n", "\r"), end)
        limit = f"{DEFAULT_MAX_LINES} lines" if by_lines else format_size(max_bytes)
        notes.append(
            f"[Truncated at {limit}: characters {offset}-{end} of {len(text)}. "
            f"Use offset={end} to read on.]"
        )
    if page.truncated:
        notes.append(
            f"[The page is longer than {format_size(len(page.data))}; the rest was not read.]"
        )
    return "\n".join([kept.text.rstrip() if notes else kept.text, *notes])


async def _excerpt(page: Fetched) -> str:
    """The beginning of an error page, which often says what is wrong."""
    if not page.content_type.startswith(_TEXT) and page.content_type not in _HTML:
        return ""
    text = await in_io_thread(lambda: page.text, abandon_on_cancel=True)
    if page.content_type in _HTML:
        text = await to_markdown(text, page.url)
    return f" It says: {' '.join(text.split())[:300]}" if text.strip() else ""
