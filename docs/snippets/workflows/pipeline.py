"""One after the other: each step reads what the one before it said."""

from toolwright import Agent
from toolwright.agent import SequentialAgent
from toolwright.testing import ScriptedModel

outline_model, text_model = ScriptedModel("1. Bees 2. Dance"), ScriptedModel("Bees dance.")
outline = Agent(name="outline", model=outline_model, instructions="Write an outline.")
text = Agent(name="text", model=text_model, instructions="Write it up. Outline: {outline}")

result = SequentialAgent(name="author", sub_agents=[outline, text]).run_sync("Bees")
print(result.text, result.state)
