from toolwright import Agent, VertexAiSearchTool, tool

handbook = VertexAiSearchTool(
    data_store_id="projects/p/locations/global/collections/default_collection/dataStores/handbook",
    bypass_multi_tools_limit=True,
)


@tool
def open_ticket(text: str) -> str:
    """Open a ticket for a person to look at."""
    return f"Ticket 17: {text}"


def make_agent() -> Agent:
    return Agent(name="desk", model="vertex:gemini-2.5-flash", tools=[handbook, open_ticket])
