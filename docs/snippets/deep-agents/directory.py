"""Files in a directory, commands in a sandbox, a person who confirms edits."""

import tempfile
from pathlib import Path

from toolwright import Approve, FilesystemBackend, Result, Runner
from toolwright.kits import create_deep_agent
from toolwright.testing import ScriptedModel, call


async def main() -> Result:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "main.py").write_text("print('hullo')\n")
        model = ScriptedModel(
            call("edit_file", file_path="/main.py", old_string="hullo", new_string="hello"),
            call("execute", command="python3 main.py"),
            "It greets now.",
        )
        agent = create_deep_agent(
            name="dev",
            model=model,
            backend=FilesystemBackend(folder),
            execution="local",  # no sandbox; "heimdall" has one
            work_dir=folder,
            interrupt_on={"edit_file": True},
        )
        async with Runner(agent) as runner:
            paused = await runner.run("Fix the greeting", session_id="s1")
            await runner.answer("s1", paused.pending[0].call_id, Approve())
            return await runner.resume("s1")
