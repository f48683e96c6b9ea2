import asyncio
from typing import Any

from toolwright import Agent, Runner
from toolwright.testing import ScriptedModel


async def main() -> dict[str, Any]:
    agent = Agent(name="teller", model=ScriptedModel("Once upon a time.", "A dragon came."))
    runner = Runner(agent)
    await runner.run("Tell me a story", user_id="ada", session_id="s1")
    first_end = (await runner.events("s1"))[-1].seq
    await runner.run("Go on", user_id="ada", session_id="s1")

    branch = await runner.branch("s1", new_id="s1-again", upto=first_end)
    listed = [(row.scope.session_id, row.title) for row in await runner.sessions("ada")]
    shorter = await runner.history(branch.scope.session_id)
    await runner.delete("s1")
    return {"listed": listed, "messages": len(shorter), "left": len(await runner.sessions())}


found = asyncio.run(main())
