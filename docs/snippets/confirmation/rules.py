from toolwright import Agent, Rule, rules, tool
from toolwright.testing import ScriptedModel, call


@tool(effects="read")
def read_table(name: str) -> str:
    """Read a table."""
    return "3 rows"


@tool(effects="destructive")
def drop_table(name: str) -> str:
    """Drop a table."""
    return "dropped"


policy = rules(
    Rule.deny("drop_*", when=lambda name: name == "users", reason="Never drop users."),
    Rule.ask(effects="destructive", reason="This cannot be undone."),
    Rule.allow("read_*"),
    otherwise="ask",
)
calls = [
    call("read_table", name="users"),
    call("drop_table", name="users"),
    call("drop_table", name="tmp"),
]
agent = Agent(name="dba", model=ScriptedModel(calls), tools=[read_table, drop_table], policy=policy)
paused = agent.run_sync("Clean up")
print([(pending.arguments, pending.hint) for pending in paused.pending])
