"""A dangerous tool asks first: the run pauses, a person agrees or refuses, and the run goes on."""

import asyncio
from typing import Any

from toolwright import Agent, Approve, FunctionTool, Reject, Result, Runner, ToolContext
from toolwright.testing import ScriptedModel, call

wiped: list[str] = []


async def wipe_database(scope: str, tool_context: ToolContext) -> dict[str, Any]:
    """Wipe one of the databases.

    Args:
        scope: Which one: 'staging' or 'production'.
    """
    confirmed = tool_context.tool_confirmation
    if confirmed is None:
        tool_context.request_confirmation(
            hint=f"Really wipe the {scope} database?", payload={"scope": scope}
        )
        return {"status": "awaiting_confirmation"}
    if confirmed.payload.get("scope") != scope:
        return {"error": "the approval was given for another database"}
    wiped.append(scope)
    return {"wiped": True, "scope": scope}


def wipe_all(scope: str) -> dict[str, bool]:
    """Wipe everything in a scope; a dry run touches nothing."""
    if scope != "dry-run":
        wiped.append(scope)
    return {"wiped": scope != "dry-run"}


careful_wipe_all = FunctionTool(wipe_all, require_confirmation=lambda scope: scope != "dry-run")
"""Here the tool itself need not know that it is dangerous; the predicate sees its arguments."""


async def wipe() -> list[Result]:
    """One wipe is approved, the other refused; the dry run never asks."""
    model = ScriptedModel(
        [call("wipe_database", scope="staging"), call("wipe_all", scope="dry-run")],
        "Staging is empty.",
        call("wipe_all", scope="production"),
        "Then production stays as it is.",
    )
    agent = Agent(name="operator", model=model, tools=[wipe_database, careful_wipe_all])
    runner = Runner(agent)

    paused = await runner.run("Wipe staging, and try the big wipe.", session_id="s1")
    for pending in paused.pending:
        print(f"{pending.name}{pending.arguments} waits: {pending.hint}")
        await runner.answer("s1", pending.call_id, Approve())
    approved = await runner.resume("s1")

    paused = await runner.run("Now wipe production.", session_id="s1")
    await runner.answer("s1", paused.pending[0].call_id, Reject(reason="not on a Friday"))
    refused = await runner.resume("s1")
    print(f"{approved.text} {refused.text} Wiped: {wiped}")
    return [approved, refused]


def main() -> list[Result]:
    """Run the story."""
    return asyncio.run(wipe())


if __name__ == "__main__":
    main()
