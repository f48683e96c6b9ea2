from toolwright import Agent, Runner, tool
from toolwright.testing import ScriptedModel, call


@tool(require_confirmation=True)
async def restart(service: str) -> str:
    """Restart a service."""
    return f"{service} is up again"


agent = Agent(
    name="operator",
    model=ScriptedModel(call("restart", service="web"), "Done."),  # or "openai:gpt-5-mini"
    tools=[restart],
)
runner = Runner(agent, app_name="operator", store="sqlite:///operator.db")
