"""Hooks watch, change or answer what an agent does; returning None changes nothing."""

from toolwright import Agent, Hooks, Output, Tool, ToolContext
from toolwright.testing import ScriptedModel, call
from toolwright.tools import Args

seen: list[str] = []


async def no_weekends(ctx: ToolContext, tool: Tool, args: Args) -> Output | dict[str, str] | None:
    seen.append(tool.name)
    if args["day"] == "sunday":
        return Output(text="Closed on Sundays.", status="denied")  # answers in the tool's place
    return {"day": args["day"].strip()}  # other arguments


def open_shop(day: str) -> str:
    """Open the shop on a day."""
    return f"Open on {day}."


turn = [call("open_shop", day="sunday"), call("open_shop", day=" monday ")]
agent = Agent(
    name="shop",
    model=ScriptedModel(turn, "Monday it is."),
    tools=[open_shop],
    hooks=Hooks(before_tool=no_weekends),
)
result = agent.run_sync("Open on Sunday and Monday")
