"""Search with DuckDuckGo's page for simple browsers, which needs no key."""

import json
from pathlib import Path

from toolwright._sealed import Sealed
from toolwright.backends import Fetch
from toolwright.builtin.web import _duckduckgo_page
from toolwright.builtin.web._elsewhere import read_elsewhere
from toolwright.builtin.web._engine import SearchResult
from toolwright.concurrency import in_io_thread
from toolwright.errors import ToolError

__all__ = ["DuckDuckGo"]

_PARSER = Path(_duckduckgo_page.__file__).read_text(encoding="utf-8")
_ADDRESS = "https://lite.duckduckgo.com/lite/"


class DuckDuckGo(Sealed):
    """A `SearchEngine` that reads DuckDuckGo Lite."""

    def __init__(self, fetch: Fetch | None = None, *, address: str = _ADDRESS) -> None:
        self._fetch = fetch or Fetch()
        self._address = address

    async def search(self, query: str, max_results: int) -> list[SearchResult]:
        """Pages for `query`, without advertisements."""
        page = await self._fetch.get(self._address, {"q": query})
        html = await in_io_thread(lambda: page.text, abandon_on_cancel=True)
        read = json.loads(await read_elsewhere([_PARSER], self._address, html))
        found = [SearchResult(title=title, url=url, snippet=words) for title, url, words in read]
        if not found and (page.status != 200 or b"anomaly" in page.data):
            raise ToolError(
                f"DuckDuckGo did not answer the search (status {page.status}); it may take this "
                "program for a robot. Wait a while, or search with another engine."
            )
        return found[:max_results]
