from pathlib import Path

from toolwright import Agent, OpenAPIToolset, searchable

DOCUMENT = Path(__file__).parents[1] / "openapi" / "petstore.yaml"


def api_agent(model: str) -> Agent:
    api = OpenAPIToolset(DOCUMENT)
    return Agent(
        name="api",
        model=model,
        instructions="Search for the tools you need; then use them.",
        tools=[searchable(api, limit=5, always=["list_pets"])],
    )
