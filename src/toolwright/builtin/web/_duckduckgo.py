"""Search with DuckDuckGo's page for simple browsers, which needs no key."""

from html.parser import HTMLParser
from urllib.parse import parse_qs, urlsplit

from toolwright._sealed import Sealed
from toolwright.backends import Fetch
from toolwright.builtin.web._engine import SearchResult
from toolwright.concurrency import in_io_thread
from toolwright.errors import ToolError

__all__ = ["DuckDuckGo"]

_ADDRESS = "https://lite.duckduckgo.com/lite/"


class DuckDuckGo(Sealed):
    """A `SearchEngine` that reads DuckDuckGo Lite."""

    def __init__(self, fetch: Fetch | None = None, *, address: str = _ADDRESS) -> None:
        self._fetch = fetch or Fetch()
        self._address = address

    async def search(self, query: str, max_results: int) -> list[SearchResult]:
        """Pages for `query`, without advertisements."""
        page = await self._fetch.get(self._address, {"q": query})
        found = await in_io_thread(lambda: parse_results(page.text), abandon_on_cancel=True)
        if not found and (page.status != 200 or b"anomaly" in page.data):
            raise ToolError(
                f"DuckDuckGo did not answer the search (status {page.status}); it may take this "
                "program for a robot. Wait a while, or search with another engine."
            )
        return found[:max_results]


def parse_results(html: str) -> list[SearchResult]:
    """The results on a page of DuckDuckGo Lite."""
    reader = _ResultReader()
    reader.feed(html)
    reader.close()
    return reader.results


class _ResultReader(HTMLParser):
    """Each result is a link of class `result-link`, then a cell of class `result-snippet`."""

    def __init__(self) -> None:
        super().__init__()
        self.results: list[SearchResult] = []
        self._sponsored = False
        self._url = ""
        self._title = ""
        self._text: list[str] | None = None
        """What is being read, while inside a link or cell that counts."""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin to read at a link or a snippet."""
        attributes = {name: value or "" for name, value in attrs}
        classes = attributes.get("class", "").split()
        if tag == "tr":
            self._sponsored = "result-sponsored" in classes
        elif tag == "a" and "result-link" in classes:
            self._finish("")
            self._url = _real_address(attributes.get("href", ""))
            self._text = []
        elif tag == "td" and "result-snippet" in classes:
            self._text = []

    def handle_data(self, data: str) -> None:
        """Read on."""
        if self._text is not None:
            self._text.append(data)

    def handle_endtag(self, tag: str) -> None:
        """The title ends with its link, and the result with its snippet."""
        if self._text is None or tag not in ("a", "td"):
            return
        words = " ".join("".join(self._text).split())
        self._text = None
        if tag == "a":
            self._title = words
        else:
            self._finish(words)

    def close(self) -> None:
        """A last result without a snippet counts too."""
        super().close()
        self._finish("")

    def _finish(self, snippet: str) -> None:
        if self._url and self._title and not self._sponsored:
            self.results.append(SearchResult(title=self._title, url=self._url, snippet=snippet))
        self._url = self._title = ""


def _real_address(href: str) -> str:
    """Where a link leads, taken out of DuckDuckGo's redirection; '' for an advertisement."""
    parts = urlsplit(href)
    if parts.path == "/y.js":
        return ""
    wrapped = parse_qs(parts.query).get("uddg", [""])[0]
    address = wrapped if parts.path == "/l/" and wrapped else href
    return f"https:{address}" if address.startswith("//") else address
