"""A test of a tool that asks first: rejected, it never runs."""

from toolwright import Agent, FunctionTool, Reject
from toolwright.testing import ScriptedModel, call

wiped: list[str] = []


def wipe(scope: str) -> str:
    """Delete everything in a scope."""
    wiped.append(scope)
    return "Done."


async def test_nothing_is_wiped_when_a_person_says_no() -> None:
    model = ScriptedModel(call("wipe", scope="production"), "I left it alone.")
    agent = Agent(name="ops", model=model, tools=[FunctionTool(wipe, require_confirmation=True)])

    paused = await agent.run("Wipe production")
    [pending] = paused.pending
    result = await agent.resume(paused, {pending.call_id: Reject(reason="Not on a Friday")})

    assert result.text == "I left it alone."
    assert wiped == []
