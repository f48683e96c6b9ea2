from toolwright import Agent
from toolwright.sources import McpToolset, StreamableHTTPConnectionParams
from toolwright.testing import ScriptedModel, call


def tracker_agent(url: str) -> Agent:
    tracker = McpToolset(
        StreamableHTTPConnectionParams(url, headers={"X-Client": "toolwright"}),
        name="tracker",
        header_provider=lambda context: {"X-User": context.user_id},
        require_confirmation=lambda title: "urgent" in title,
    )
    model = ScriptedModel(call("open_ticket", title="paint the door"), "Ticket opened.")
    return Agent(name="office", model=model, tools=[tracker])
