"""With servers or sandboxes to start, the async factory fails early and says how to close."""

from toolwright import Result
from toolwright.kits import create_deep_agent_async
from toolwright.testing import ScriptedModel, call


async def main(folder: str) -> Result:
    model = ScriptedModel(
        [call("execute_python", code="print(2 + 2)"), call("execute_bash", command="ls -a")],
        "Four.",
    )
    agent, cleanup = await create_deep_agent_async(
        name="sandboxed", model=model, execution="heimdall", work_dir=folder
    )
    try:
        return await agent.run("What is 2 + 2?")
    finally:
        await cleanup()
