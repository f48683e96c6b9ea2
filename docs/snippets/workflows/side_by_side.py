"""Side by side: all of them at the same time, each in its own conversation."""

from toolwright import Agent
from toolwright.agent import ParallelAgent
from toolwright.testing import ScriptedModel

pros = Agent(name="pros", model=ScriptedModel("It is quick."), instructions="Find reasons for it.")
cons = Agent(name="cons", model=ScriptedModel("It is loud."), instructions="Find reasons against.")

result = ParallelAgent(name="debate", sub_agents=[pros, cons]).run_sync("Leaf blowers")
print(result.output)
