import tempfile

import anyio

from toolwright import Agent, Approve, BashToolPolicy, ExecuteBashTool, Runner
from toolwright.testing import ScriptedModel, call

bash = ExecuteBashTool(
    workspace=tempfile.mkdtemp(),
    policy=BashToolPolicy(allowed_command_prefixes=("ls", "cat", "echo", "touch")),
)
model = ScriptedModel(
    call("execute_bash", command="touch notes.txt && ls"),
    call("execute_bash", command="rm notes.txt"),
    "There is one file, and I may not remove it.",
)
runner = Runner(Agent(name="helper", model=model, tools=[bash]), app_name="demo")


async def main() -> list[str]:
    result = await runner.run("Tidy up", user_id="ada", session_id="s1")
    for pending in result.pending:  # what a person is shown: pending.payload["commands"]
        await runner.answer("s1", pending.call_id, Approve())
    result = await runner.resume("s1")
    return [r.text for m in result.history if m.kind == "tool" for r in m.results]


answers = anyio.run(main)
