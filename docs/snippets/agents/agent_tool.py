"""An agent as a tool: it works in a conversation of its own and reports back."""

from pydantic import BaseModel

from toolwright import Agent, AgentTool
from toolwright.testing import ScriptedModel, call


class Question(BaseModel):
    topic: str


researcher = Agent(
    name="researcher",
    description="Researches a topic.",
    model=ScriptedModel("Bees dance."),
    input_schema=Question,  # becomes the tool's parameters
)
writer = Agent(
    name="writer",
    model=ScriptedModel(call("researcher", topic="bees"), "Bees tell by dancing."),
    tools=[AgentTool(agent=researcher)],
)
result = writer.run_sync("Write about bees")
