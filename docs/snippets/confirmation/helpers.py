import asyncio

from toolwright import Agent, AgentTool, Result, Rule, Runner, rules, tool
from toolwright.testing import ScriptedModel, call


@tool(effects="destructive")
def drop_table(name: str) -> str:
    """Drop a table."""
    return f"dropped {name}"


helper = Agent(
    name="helper",
    description="Cleans up.",
    model=ScriptedModel([call("drop_table", name="users"), call("drop_table", name="tmp")], "Ok."),
    tools=[drop_table],
    policy=rules(otherwise="allow"),  # adds nothing, and takes nothing away
)
agent = Agent(
    name="dba",
    model=ScriptedModel(call("helper", request="Clean up"), "Done."),
    tools=[AgentTool(helper)],
    interrupt_on={"drop_table": True},
)
never_users = rules(Rule.deny("drop_table", when="name == 'users'"), otherwise="allow")


async def main() -> Result:
    return await Runner(agent, policy=never_users).run("Clean up")


paused = asyncio.run(main())
print([(pending.arguments, pending.rule) for pending in paused.pending])
