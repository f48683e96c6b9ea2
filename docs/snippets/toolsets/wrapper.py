"""A wrapper of your own: a function from tool to tool."""

from toolwright import Agent, Output, Tool, ToolContext, tool
from toolwright.testing import ScriptedModel, call
from toolwright.tools import Args


def with_budget(tool: Tool, calls: int) -> Tool:
    """Refuse after so many calls in one session."""

    async def run(args: Args, ctx: ToolContext) -> Output:
        used = ctx.state.get("searches", 0)
        if used >= calls:
            return Output(text=f"Denied: only {calls} searches in a session.", status="denied")
        ctx.state["searches"] = used + 1
        return await tool.run(args, ctx)

    return tool.replace(run=run)


@tool(sequential=True)
def search(query: str) -> str:
    """Search the web."""
    return f"Results for {query!r}."


model = ScriptedModel([call("search", query="a"), call("search", query="b")], "One was denied.")
agent = Agent(name="r", model=model, tools=[with_budget(search, calls=1)])
result = agent.run_sync("Search for a and b")
