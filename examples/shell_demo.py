"""An agent that runs shell commands in a workspace; a person agrees to each."""

import tempfile
from pathlib import Path

import anyio

from toolwright import Agent, Approve, BashToolPolicy, ExecuteBashTool, Runner
from toolwright.agent import Result
from toolwright.testing import ScriptedModel, call


def make_agent(workspace: Path) -> Agent:
    policy = BashToolPolicy(
        allowed_command_prefixes=("ls", "cat", "echo", "python3 -c"),
        blocked_operators=("|", ";", "&&", "||", "&"),
        timeout_seconds=10,
    )
    model = ScriptedModel(
        call("execute_bash", command="ls"),
        call("execute_bash", command="cat readme.txt; rm readme.txt"),
        "The workspace holds readme.txt.",
    )
    return Agent(
        name="code_runner",
        model=model,  # or "openai:gpt-5-mini"
        instructions="You can run shell commands in the workspace.",
        tools=[ExecuteBashTool(workspace=workspace, policy=policy)],
    )


async def run() -> Result:
    workspace = Path(tempfile.mkdtemp())
    (workspace / "readme.txt").write_text("Hello!\n")
    runner = Runner(make_agent(workspace), app_name="shell_demo")
    result = await runner.run("List the files", user_id="dev", session_id="s1")
    while result.status == "paused":
        print("asked:", result.pending[0].payload["command"])
        await runner.answer("s1", result.pending[0].call_id, Approve())
        result = await runner.resume("s1")
    return result


def main() -> Result:
    result = anyio.run(run)
    print(result.text)
    return result


if __name__ == "__main__":
    main()
