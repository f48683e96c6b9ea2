"""Toolsets and lists of tools, reshaped: nothing of this costs anything when a tool is called."""

import asyncio

from toolwright import tool
from toolwright.tools import combined, filtered, prefixed, renamed, reshaped, with_timeout


@tool(effects="read")
def search(query: str) -> str:
    """Search the catalogue."""
    return f"3 results for {query!r}"


@tool(effects="destructive")
def purge() -> str:
    """Empty the catalogue."""
    return "Empty."


async def names() -> list[str]:
    reading = filtered([search, purge], lambda tool, ctx: tool.effects == "read")
    books = prefixed(reading, "books")  # books_search
    films = renamed([search], {"search": "find_film"})
    patient = reshaped(films, lambda tool: with_timeout(tool, 30))
    return [tool.name for tool in await combined(books, patient).list_tools()]


if __name__ == "__main__":
    print(asyncio.run(names()))
