"""A tool that only some users have: hidden from the model, and refused if it is called anyway."""

from dataclasses import dataclass
from typing import Literal

from toolwright import Agent, ReadonlyContext, Result, tool
from toolwright.testing import ScriptedModel, call


@dataclass(frozen=True)
class Customer:
    """The application's own object; tools find it in `ctx.deps`."""

    name: str
    user_tier: Literal["free", "premium"]


def is_premium_user(ctx: ReadonlyContext) -> bool:
    """Whether the person who runs the agent has paid."""
    return ctx.deps.user_tier == "premium"


@tool(is_enabled=is_premium_user, description="Look something up in the premium archive.")
def premium_feature(query: str) -> str:
    return f"Premium result for {query!r}"


def ask(customer: Customer) -> Result:
    """One question on a scripted model that tries the tool in any case."""
    model = ScriptedModel(call("premium_feature", query="tea"), "That is all I found.")
    agent = Agent(name="archive", model=model, tools=[premium_feature], deps_type=Customer)
    return agent.run_sync("What do you have on tea?", deps=customer)


def main() -> None:
    for customer in (Customer("Ada", "premium"), Customer("Bob", "free")):
        answer = ask(customer).history[2]
        print(customer.name, "->", answer.results[0].text)  # type: ignore[union-attr]


if __name__ == "__main__":
    main()
