from toolwright import Agent, ToolContext, tool
from toolwright.testing import ScriptedModel, call


@tool
async def set_unit(unit: str, tool_context: ToolContext) -> str:
    """Remember the user's temperature unit."""
    tool_context.state["user:unit"] = unit
    return f"Using {unit}."


model = ScriptedModel(call("set_unit", unit="celsius"), "Done.")  # or: "openai:gpt-5-mini"
agent = Agent(name="weather", model=model, instructions="Be brief.", tools=[set_unit])
result = agent.run_sync("Please use celsius")
print(result.text, result.state)
