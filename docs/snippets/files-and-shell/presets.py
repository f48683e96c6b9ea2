from toolwright import Agent
from toolwright.kits import preset_tools
from toolwright.testing import ScriptedModel, call

model = ScriptedModel(call("ls"), "There is nothing here yet.")
agent = Agent(name="reviewer", model=model, tools=preset_tools("readonly", work_dir="."))
result = agent.run_sync("What is in this directory?")
