"""A deep agent that runs Python and shell commands in a sandbox, or on an MCP server of yours."""

import asyncio
import tempfile
from typing import Any

from toolwright import Result, create_deep_agent_async
from toolwright.testing import ScriptedModel, call

NODE_SERVER = {
    "command": "npx",
    "args": ["@heimdall-ai/heimdall"],
    "env": {"HEIMDALL_WORKSPACE": "/workspace"},
}
"""What to pass to `compute` to run everything on a server that npx starts."""
REMOTE_SERVER = {"uri": "http://localhost:8080"}
"""The same for a server that is running."""


async def compute(execution: Any = "heimdall") -> Result:
    """Compute something in Python, look at the files in bash, and close what was started."""
    model = ScriptedModel(
        call("execute_python", code="open('sum.txt', 'w').write(str(2 + 2)); print(2 + 2)"),
        call("execute_bash", command="cat sum.txt"),
        "Four.",
    )
    with tempfile.TemporaryDirectory() as folder:
        agent, cleanup = await create_deep_agent_async(
            name="sandbox_agent", model=model, execution=execution, work_dir=folder
        )
        try:
            return await agent.run("What is two and two?")
        finally:
            await cleanup()


def main() -> Result:
    """In our own sandbox."""
    result = asyncio.run(compute())
    print(result.text)
    return result


if __name__ == "__main__":
    main()
