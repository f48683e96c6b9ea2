from toolwright import Agent, MemoryEntry, Runner, ToolContext, load_memory, preload_memory, tool
from toolwright.testing import ScriptedModel, call


@tool
async def remember(fact: str, tool_context: ToolContext) -> str:
    """Remember something about the user for later conversations."""
    await tool_context.add_memory([MemoryEntry(content=fact)])
    return "Noted."


model = ScriptedModel(call("remember", fact="Has a dog called Rufus"), "Noted.", "Rufus.")
agent = Agent(name="friend", model=model, tools=[remember, load_memory, preload_memory])
runner = Runner(agent, memory="sqlite:///memory.db")
runner.run_sync("My dog is called Rufus", user_id="ada")
runner.run_sync("What is my dog called?", user_id="ada")
print(model.requests[-1].instructions)  # what preload_memory put there
