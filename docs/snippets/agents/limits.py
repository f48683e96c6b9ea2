"""A run ends cleanly when it reaches a limit, and can be carried on with a higher one."""

from toolwright import Agent, Compaction, Limits
from toolwright.testing import ScriptedModel, call


def ping() -> str:
    """Ping."""
    return "pong"


model = ScriptedModel(*[call("ping") for _ in range(10)])
agent = Agent(
    name="pinger",
    model=model,
    tools=[ping],
    limits=Limits(turns=3, cost=0.50, seconds=60),
    compaction=Compaction(max_tokens=100_000),  # long histories are summarised
)
result = agent.run_sync("Ping until I say stop")
print(result.status, result.reason)
