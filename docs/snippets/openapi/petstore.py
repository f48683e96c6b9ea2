from pathlib import Path

from toolwright import Agent, OpenAPIToolset

DOCUMENT = Path(__file__).with_name("petstore.yaml")


def pet_agent(model: str, server_url: str | None = None) -> Agent:
    petstore = OpenAPIToolset(DOCUMENT, tool_name_prefix="petstore_", server_url=server_url)
    return Agent(
        name="petstore",
        model=model,
        instructions="Help the user browse and manage the pets.",
        tools=[petstore],
    )
