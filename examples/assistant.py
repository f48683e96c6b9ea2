"""An assistant with a long memory: what one conversation told it, the next one knows."""

import asyncio
import tempfile
from pathlib import Path
from typing import Any

from toolwright import (
    Agent,
    MemoryEntry,
    Result,
    Runner,
    ToolContext,
    load_artifacts,
    load_memory,
    preload_memory,
)
from toolwright.backends import sqlite_address
from toolwright.testing import ScriptedModel, call


async def remember_preference(pref: str, tool_context: ToolContext) -> dict[str, bool]:
    """Remember what the user prefers.

    Args:
        pref: The preference, e.g. 'prefers metric units'.
    """
    await tool_context.add_memory([MemoryEntry(content=pref)])
    return {"ok": True}


async def recall(query: str, tool_context: ToolContext) -> dict[str, Any]:
    """Search long-term memory.

    Args:
        query: What to look for.
    """
    response = await tool_context.search_memory(query)
    return {"results": [memory.content for memory in response.memories]}


async def flush_to_memory(tool_context: ToolContext) -> dict[str, bool]:
    """Keep this whole conversation in long-term memory."""
    await tool_context.add_session_to_memory()
    return {"flushed": True}


async def two_conversations(model: ScriptedModel, memory: str) -> list[Result]:
    """The same user in two sessions."""
    agent = Agent(
        name="assistant",
        model=model,
        instructions="Use `load_memory` to recall what you were told.",
        tools=[
            remember_preference,
            recall,
            flush_to_memory,
            load_memory,
            preload_memory,
            load_artifacts,
        ],
    )
    async with Runner(agent, memory=memory, artifacts="memory://") as runner:
        first = await runner.run("I prefer metric units", user_id="ada", session_id="monday")
        second = await runner.run("How tall is the tower?", user_id="ada", session_id="tuesday")
    return [first, second]


def main(model: ScriptedModel | None = None) -> list[Result]:
    """With a memory in a temporary file."""
    script = model or ScriptedModel(
        call("remember_preference", pref="prefers metric units"),
        call("flush_to_memory"),
        "Noted.",
        [call("recall", query="units"), call("load_memory", query="metric units")],
        "330 metres.",
    )
    with tempfile.TemporaryDirectory() as folder:
        results = asyncio.run(two_conversations(script, sqlite_address(Path(folder) / "memory.db")))
    print([result.text for result in results])
    return results


if __name__ == "__main__":
    main()
