from toolwright import Agent, Example, ExampleTool
from toolwright.testing import ScriptedModel

examples = [Example("Where is the harbour?", "North of here, two hours on foot.")]
model = ScriptedModel("South of here, one hour by boat.")
agent = Agent(name="guide", model=model, tools=[ExampleTool(examples)])
agent.run_sync("Where is the lighthouse?")
print(model.requests[0].instructions)
