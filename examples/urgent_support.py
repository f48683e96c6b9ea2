"""A tool hands urgent cases over to another agent, which keeps the conversation."""

from toolwright import Agent, FunctionTool, Result, ToolContext
from toolwright.testing import ScriptedModel, call


def check_and_transfer(query: str, tool_context: ToolContext) -> str:
    """Check whether a request is urgent, and hand it over if it is."""
    if "urgent" in query.lower():
        tool_context.actions.transfer_to_agent = "support_agent"
        return "Transferring to the support agent."
    return f"Handled {query!r}; nothing more to do."


def main(message: str = "this is urgent, I can't log in") -> Result:
    """On scripted models; the tool really decides."""
    support = Agent(
        name="support_agent",
        description="Helps with urgent problems.",
        model=ScriptedModel("Support here. Let us get you logged in."),
        instructions="Say that you are the support agent, and help with the urgent problem.",
    )
    desk = Agent(
        name="main_agent",
        model=ScriptedModel(call("check_and_transfer", query=message), "Anything else?"),
        instructions="First point of contact. If it is urgent, use check_and_transfer.",
        tools=[FunctionTool(check_and_transfer)],
        sub_agents=[support],
    )
    result = desk.run_sync(message)
    print(f"{result.agent}: {result.text}")
    return result


if __name__ == "__main__":
    main()
