"""A first approval: the run pauses, a person agrees, the run goes on."""

import asyncio

from toolwright import Agent, Approve, FunctionTool, Result, Runner
from toolwright.testing import ScriptedModel, call


def wipe(scope: str) -> str:
    """Delete everything in a scope."""
    return f"{scope} is empty now."


async def main() -> Result:
    model = ScriptedModel(call("wipe", scope="staging"), "Done.")
    risky = FunctionTool(wipe, require_confirmation=lambda scope: scope != "dry-run")
    runner = Runner(Agent(name="ops", model=model, tools=[risky]), store="sqlite:///ops.db")

    result = await runner.run("Wipe staging", session_id="s1")
    for pending in result.pending:  # from any process, now or next week
        print(f"{pending.name} {pending.arguments}?")
        await runner.answer("s1", pending.call_id, Approve())
    result = await runner.resume("s1")
    print(result.text)
    await runner.close()
    return result


if __name__ == "__main__":
    asyncio.run(main())
