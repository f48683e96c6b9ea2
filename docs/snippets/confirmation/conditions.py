from toolwright import Agent, Rule, rules, tool
from toolwright.testing import ScriptedModel, call


@tool
def transfer(cents: int, to: str) -> str:
    """Transfer money."""
    return f"{cents} cents went to {to}."


policy = rules(
    Rule.deny("transfer", when="to == 'Mallory'", reason="Known for fraud."),
    Rule.ask("transfer", when="cents > 10_000 or call.hour < 6", reason="Much, or late."),
    Rule.ask("transfer", when="call.cost > 2.50", reason="This session is getting expensive."),
    otherwise="allow",
)
calls = [
    call("transfer", cents=5, to="Mallory"),
    call("transfer", cents=50_000, to="Eve"),
]
agent = Agent(name="bank", model=ScriptedModel(calls), tools=[transfer], policy=policy)
paused = agent.run_sync("Pay them")
for pending in paused.pending:
    print(pending.arguments, pending.hint, pending.rule)
