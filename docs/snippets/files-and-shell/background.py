from toolwright import Agent, ShellToolset
from toolwright.testing import ScriptedModel, call

shell = ShellToolset(".")
model = ScriptedModel(
    call("start_process", command="python3 -m http.server 0 --bind 127.0.0.1"),
    call("list_processes"),
    "The server is running.",
)
agent = Agent(name="operator", model=model, tools=[shell])
result = agent.run_sync("Start the server")
