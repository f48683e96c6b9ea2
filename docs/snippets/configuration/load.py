"""An agent from a file, in a program of your own."""

from pathlib import Path

from toolwright.kits import load_agent_file
from toolwright.testing import ScriptedModel, call

model = ScriptedModel(call("add", a=2, b=3), "Five.")
loaded = load_agent_file(Path(__file__).with_name("agent.yaml"), model=model)
result = loaded.agent.run_sync("2 + 3?")
print(result.text, loaded.settings.limits.turns)
