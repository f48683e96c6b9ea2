import asyncio
from typing import Any

from toolwright import Agent, Reject, Result, Runner, ToolContext
from toolwright.testing import ScriptedModel, call

ROWS = {"staging": 12, "production": 4_000_000}


def wipe_database(scope: str, tool_context: ToolContext) -> dict[str, Any]:
    """Wipe a database."""
    if tool_context.tool_confirmation is None and ROWS[scope] > 100:
        tool_context.request_confirmation(
            hint=f"Wipe {ROWS[scope]} rows of {scope}?", payload={"rows": ROWS[scope]}
        )
        return {"status": "awaiting_confirmation"}
    return {"wiped": ROWS.pop(scope)}


calls = [call("wipe_database", scope="staging"), call("wipe_database", scope="production")]
agent = Agent(name="dba", model=ScriptedModel(calls, "Only staging."), tools=[wipe_database])


async def main() -> Result:
    runner = Runner(agent)
    paused = await runner.run("Wipe both", session_id="s1")
    for pending in paused.pending:
        await runner.answer("s1", pending.call_id, Reject(reason=f"{pending.payload['rows']}!"))
    return await runner.resume("s1")


result = asyncio.run(main())
