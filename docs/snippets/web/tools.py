from toolwright import Agent, web_tools
from toolwright.testing import ScriptedModel

model = ScriptedModel("I would search for it, then read the best page.")
agent = Agent(name="researcher", model=model, tools=web_tools())
result = agent.run_sync("What is new in Python?")
