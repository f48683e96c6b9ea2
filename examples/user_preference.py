"""A preference that a tool keeps for a user, across all of their sessions."""

from typing import Any

from toolwright import Agent, FunctionTool, Runner, ToolContext
from toolwright.testing import ScriptedModel, call


def update_user_preference(
    preference: str, value: str, tool_context: ToolContext
) -> dict[str, str]:
    """Remember a preference of the user.

    Args:
        preference: Which one, such as 'theme'.
        value: What they prefer.
    """

    def updated(preferences: dict[str, str]) -> dict[str, str]:
        return {**preferences, preference: value}

    # In one step, so that two parallel calls cannot lose each other's preference.
    tool_context.state.change("user:preferences", updated, {})
    return {"status": "success", "updated_preference": preference}


async def main() -> dict[str, Any]:
    """Two preferences set in parallel in one session, and seen in the user's next one."""
    model = ScriptedModel(
        [
            call("update_user_preference", preference="theme", value="dark"),
            call("update_user_preference", preference="unit", value="celsius"),
        ],
        "Noted.",
        "Your theme is dark.",
    )
    agent = Agent(
        name="settings",
        model=model,
        instructions="The user's preferences: {user:preferences?}",
        tools=[FunctionTool(update_user_preference)],
    )
    async with Runner(agent, app_name="settings") as runner:
        await runner.run("Dark theme and celsius, please", user_id="ada", session_id="monday")
        await runner.run("Which theme do I use?", user_id="ada", session_id="tuesday")
        print(model.requests[-1].instructions)
        return await runner.state("tuesday")


if __name__ == "__main__":
    import asyncio

    asyncio.run(main())
