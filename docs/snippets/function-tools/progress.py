"""A generator shows its progress; its last value, or what it returns, is the result."""

import asyncio
from collections.abc import AsyncIterator

from toolwright import Agent, tool
from toolwright.testing import ScriptedModel, call


@tool
async def index(pages: int) -> AsyncIterator[str]:
    """Index the handbook."""
    for page in range(1, pages + 1):
        yield f"page {page} of {pages}"
    yield f"{pages} pages indexed"


async def main() -> list[str]:
    agent = Agent(
        name="librarian", model=ScriptedModel(call("index", pages=2), "Done."), tools=[index]
    )
    seen = []
    async for event in agent.stream("Index the handbook"):
        if event.type == "tool_progress":
            seen.append(event.text)
            print(event.text)
    return seen


if __name__ == "__main__":
    asyncio.run(main())
