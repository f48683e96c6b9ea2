"""What a search engine is, whichever it is."""

from dataclasses import dataclass
from typing import Protocol

__all__ = ["SearchEngine", "SearchResult"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """One page that a search found."""

    title: str
    url: str
    snippet: str = ""


class SearchEngine(Protocol):
    """Searches the web."""

    async def search(self, query: str, max_results: int) -> list[SearchResult]:
        """Pages for `query`, best first; `ToolError` when the engine cannot or will not answer."""
        ...
