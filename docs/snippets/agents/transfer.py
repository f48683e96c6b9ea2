"""Sub-agents: the conversation is handed over, and stays with whoever has it."""

from toolwright import Agent
from toolwright.testing import ScriptedModel, call

billing = Agent(
    name="billing",
    description="Invoices and refunds.",
    model=ScriptedModel("Hello, billing here. Your refund is on its way."),
)
desk = Agent(
    name="desk",
    model=ScriptedModel(call("transfer_to_agent", agent_name="billing")),
    instructions="Hand over to whoever knows best.",
    sub_agents=[billing],
)
result = desk.run_sync("Where is my refund?")
print(result.agent, result.text)
