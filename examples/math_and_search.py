"""A function, a search that runs at the provider, and the function again with a confirmation."""

import asyncio

from toolwright import Approve, FunctionTool, LlmAgent, Result, google_search
from toolwright.testing import ScriptedModel, call


def add(a: int, b: int) -> int:
    """Add two integers."""
    return a + b


def build(model: ScriptedModel) -> LlmAgent:
    """The agent; with a Gemini model the search really takes place."""
    return LlmAgent(
        name="math_and_search",
        model=model,
        instructions="Use `add` for arithmetic and the search for facts.",
        tools=[
            add,
            google_search,
            FunctionTool(add, name="add_after_asking", require_confirmation=True),
        ],
    )


async def calculate(model: ScriptedModel) -> Result:
    """Add twice; the second time a person agrees first."""
    agent = build(model)
    paused = await agent.run("2 + 3, and then 4 + 5 if I agree")
    [pending] = paused.pending
    return await agent.resume(paused, {pending.call_id: Approve()})


def main() -> Result:
    """On a scripted model."""
    turn = [call("add", a=2, b=3), call("add_after_asking", a=4, b=5)]
    result = asyncio.run(calculate(ScriptedModel(turn, "5 and 9.")))
    print(result.text)
    return result


if __name__ == "__main__":
    main()
