from pathlib import Path

from toolwright import Agent, workspace_tools
from toolwright.testing import ScriptedModel, call

Path("project").mkdir()
Path("project/main.py").write_text("print('helo')\n")

model = ScriptedModel(
    call("grep", pattern="helo"),
    call("edit", path="main.py", old_text="helo", new_text="hello"),
    call("bash", command="python3 main.py"),
    "Fixed the greeting.",
)
agent = Agent(name="coder", model=model, tools=workspace_tools("project"))
result = agent.run_sync("Fix the typo and run the program")
