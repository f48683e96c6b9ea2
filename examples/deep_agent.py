"""A deep agent over a small project: it plans, delegates the search, fixes a bug and runs it."""

import asyncio
import tempfile
from pathlib import Path

from toolwright import (
    FilesystemBackend,
    LlmAgent,
    Result,
    SubAgentSpec,
    create_deep_agent,
)
from toolwright.testing import ScriptedModel, call


def researcher() -> SubAgentSpec:
    """A helper with its parent's file tools, and a prompt and model of its own."""
    return SubAgentSpec(
        name="researcher",
        description="Searches the code for files and patterns.",
        system_prompt="You are a careful reader of code. Search thoroughly.",
        model=ScriptedModel(
            call("grep", pattern="wrold", output_mode="content"), "/greet.py, line 1"
        ),
    )


def reviewer() -> LlmAgent:
    """A helper that was built by hand."""
    model = ScriptedModel("The change is fine.")
    return LlmAgent(name="reviewer", description="Reviews changes.", model=model)


async def fix(project: Path) -> Result:
    """Let the agent find and fix the bug in `project`."""
    todo = {"content": "Fix the greeting"}
    model = ScriptedModel(
        call("write_todos", todos=[{**todo, "status": "in_progress"}]),
        call("task", agent="researcher", description="Where does 'wrold' stand?"),
        call("edit_file", file_path="/greet.py", old_string="wrold", new_string="world"),
        [
            call("execute", command="python3 greet.py"),
            call("task", agent="reviewer", description="'wrold' became 'world' in /greet.py."),
        ],
        call("write_todos", todos=[{**todo, "status": "completed"}]),
        "The greeting is fixed.",
    )
    agent = create_deep_agent(
        name="dev_agent",
        model=model,
        instructions="You look after this project.",
        subagents=[researcher(), reviewer()],
        backend=FilesystemBackend(project),
        execution="local",
        work_dir=project,
    )
    try:
        return await agent.run("Fix the typo in the greeting")
    finally:
        await agent.close()


def main() -> Result:
    """In a temporary project; files and commands are real, the models are scripted."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "greet.py").write_text("print('Hello, wrold!')\n")
        result = asyncio.run(fix(Path(folder)))
    print(result.text)
    return result


if __name__ == "__main__":
    main()
