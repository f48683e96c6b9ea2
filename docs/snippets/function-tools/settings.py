"""What else can be said about a tool."""

from dataclasses import dataclass

from toolwright import Agent, MaxOutput, ReadonlyContext, tool
from toolwright.testing import ScriptedModel, call


@dataclass
class Customer:
    tier: str


def is_premium(ctx: ReadonlyContext) -> bool:
    return ctx.deps.tier == "premium"


@tool(
    name="weather_lookup",
    description="Get detailed weather for any city.",
    is_enabled=is_premium,  # asked before each turn and again before each call
    effects="read",  # "read", "write" or "destructive": policies and restarts go by it
    timeout=10,  # seconds, then the model is told
    retries=2,  # when it breaks; a ToolError is an answer and not tried again
    max_output=MaxOutput(bytes=8_000, lines=200),  # the rest goes to a file
)
def get_weather(location: str) -> str:
    return f"Sunny in {location}."


def ask(customer: Customer) -> list[str]:
    """The tools that the model is told of."""
    model = ScriptedModel("Hello.")
    Agent(name="a", model=model, tools=[get_weather]).run_sync("Hi", deps=customer)
    return [spec.name for spec in model.requests[0].tools]


@tool(sequential=True)  # never beside other calls of the same turn
def deploy(service: str, version: str) -> str:
    """Deploy a service."""
    return f"{service} {version} is live."


model = ScriptedModel([call("deploy", service="api", version=v) for v in ("1", "2")], "Done.")
result = Agent(name="ops", model=model, tools=[deploy]).run_sync("Deploy both")
