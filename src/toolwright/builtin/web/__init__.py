"""Tools for the web: search it, and read its pages."""

from toolwright.builtin.web._duckduckgo import DuckDuckGo
from toolwright.builtin.web._engine import SearchEngine, SearchResult
from toolwright.builtin.web._markdown import to_markdown
from toolwright.builtin.web._tools import web_tools

__all__ = ["DuckDuckGo", "SearchEngine", "SearchResult", "to_markdown", "web_tools"]
