"""Find the results on a page of DuckDuckGo Lite; a program of its own, which can be ended.

Python's parser takes minutes for some pages. Imports nothing of this library.
"""

import json
import sys
from html.parser import HTMLParser
from urllib.parse import parse_qs, urlsplit

__all__ = ["parse_results"]


def parse_results(html: str) -> list[tuple[str, str, str]]:
    """Title, address and snippet of each result."""
    reader = _ResultReader()
    reader.feed(html)
    reader.close()
    return reader.results


class _ResultReader(HTMLParser):
    """Each result is a link of class `result-link`, then a cell of class `result-snippet`."""

    def __init__(self) -> None:
        super().__init__()
        self.results: list[tuple[str, str, str]] = []
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
            self.results.append((self._title, self._url, snippet))
        self._url = self._title = ""


def _real_address(href: str) -> str:
    """Where a link leads, taken out of DuckDuckGo's redirection; '' for an advertisement."""
    try:
        parts = urlsplit(href)
    except ValueError:
        return ""  # No address at all; the other results are of use.
    if parts.path == "/y.js":
        return ""
    wrapped = parse_qs(parts.query).get("uddg", [""])[0]
    address = wrapped if parts.path == "/l/" and wrapped else href
    return f"https:{address}" if address.startswith("//") else address


if __name__ == "__main__":
    page = sys.stdin.buffer.read().decode("utf-8", "replace").partition("\n")[2]
    sys.stdout.buffer.write(json.dumps(parse_results(page)).encode())
