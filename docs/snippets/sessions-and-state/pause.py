import asyncio

from toolwright import Agent, Approve, FunctionTool, Result, Runner
from toolwright.testing import ScriptedModel, call


def wipe(target: str) -> str:
    """Delete everything on a machine."""
    return f"{target} is empty."


tool = FunctionTool(wipe, require_confirmation=True)
model = ScriptedModel(call("wipe", target="staging"), "Staging is empty now.")
agent = Agent(name="operator", model=model, tools=[tool])


async def main() -> list[Result]:
    runner = Runner(agent, store="sqlite:///operator.db")
    paused = await runner.run("Wipe staging", session_id="s1")
    await runner.close()

    other = Runner(agent, store="sqlite:///operator.db")  # next week, on another machine
    for pending in await other.pending("s1"):
        print(pending.name, pending.arguments)
        print(await other.answer("s1", pending.call_id, Approve()))  # accepted
        print(await other.answer("s1", pending.call_id, Approve()))  # duplicate
    done = await other.resume("s1")
    await other.close()
    return [paused, done]


results = asyncio.run(main())
