from toolwright import Agent, Runner, ToolContext, tool
from toolwright.testing import ScriptedModel, call


@tool
def count_visit(tool_context: ToolContext) -> str:
    """Count a visit."""
    state = tool_context.state
    state["topic"] = "harbours"  # this session
    state["user:unit"] = "celsius"  # all sessions of this user
    visits = state.change("app:visits", lambda n: n + 1, default=0)  # everyone
    state["temp:connection"] = object()  # this run only, never stored
    return f"Visit number {visits}."


model = ScriptedModel(call("count_visit"), "Welcome.", call("count_visit"), "Welcome back.")
runner = Runner(Agent(name="porter", model=model, tools=[count_visit]))
ada = runner.run_sync("hi", user_id="ada", session_id="s1").state
bob = runner.run_sync("hi", user_id="bob", session_id="s2").state
print(bob["app:visits"])
