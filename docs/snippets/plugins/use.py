from pathlib import Path

from toolwright import Agent
from toolwright.sources import PluginToolset
from toolwright.testing import ScriptedModel, call

plugin = Path("examples/plugins/notes.py")  # any executable file
notes = PluginToolset(plugin, env={"LANG": "C.UTF-8"}, tool_name_prefix="notes")

model = ScriptedModel(
    call("notes_add_note", text="buy milk"), call("notes_list_notes"), "There is one note."
)
agent = Agent(name="secretary", model=model, tools=[notes])
result = agent.run_sync("Note that I need milk, then read me my notes")
