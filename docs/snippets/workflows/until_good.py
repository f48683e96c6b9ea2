"""Round and round, until somebody calls `exit_loop`."""

from toolwright import Agent
from toolwright.agent import LoopAgent, exit_loop
from toolwright.testing import ScriptedModel, call

writer = Agent(name="writer", model=ScriptedModel("Bees dnace.", "Bees dance."))
critic = Agent(
    name="critic",
    model=ScriptedModel("A letter is wrong.", call("exit_loop"), "Good."),
    instructions="Say what is wrong; call exit_loop when nothing is.",
    tools=[exit_loop],
)
loop = LoopAgent(name="polish", sub_agents=[writer, critic], max_iterations=5)
result = loop.run_sync("One sentence on bees")
print(result.state["writer"])
