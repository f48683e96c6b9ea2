"""A graph of functions, tools and agents; a route chooses the way."""

from toolwright import Agent, ToolContext
from toolwright.agent import START, Workflow
from toolwright.testing import ScriptedModel


def triage(message: str, tool_context: ToolContext) -> str:
    """Decide who handles a message."""
    tool_context.route = "urgent" if "down" in message else "later"
    return message


def file_ticket(message: str) -> str:
    """Put it on the pile."""
    return f"filed: {message}"


oncall = Agent(name="oncall", model=ScriptedModel("Restarted it."))
support = Workflow(
    name="support",
    nodes={"triage": triage, "ticket": file_ticket, "oncall": oncall},
    edges=[
        (START, "triage"),
        ("triage", "oncall", "urgent"),
        ("triage", "ticket", "later"),
    ],
    retries=1,
)
results = [support.run_sync(text).text for text in ("The site is down!", "The logo is blue")]
print(results, support.mermaid(), sep="\n")
