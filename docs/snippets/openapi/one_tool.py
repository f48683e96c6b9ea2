from pathlib import Path

from toolwright import Agent, OpenAPIToolset

petstore = OpenAPIToolset(
    spec_str=Path(__file__).with_name("petstore.yaml").read_text(), spec_str_type="yaml"
)
list_pets = petstore.get_tool("list_pets")


def lister(model: str) -> Agent:
    return Agent(name="lister", model=model, tools=[list_pets])
