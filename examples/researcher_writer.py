"""One agent as a tool of another: a researcher with a schema of its own, and a writer who asks it."""

from pydantic import BaseModel

from toolwright import Agent, AgentTool, Result
from toolwright.testing import ScriptedModel, call

SHELF = {"bees": "Bees tell each other where flowers are by dancing (von Frisch, 1967)."}


class ResearchIn(BaseModel):
    """What the researcher must be told."""

    topic: str


def search(query: str) -> str:
    """Search the shelf."""
    return SHELF.get(query.lower(), "Nothing found.")


def build(research_model: ScriptedModel, writing_model: ScriptedModel) -> Agent:
    """The writer, with the researcher among its tools."""
    researcher = Agent(
        name="researcher",
        description="Researches a topic and returns one paragraph with its sources.",
        model=research_model,
        instructions="Research the topic with the search tool. Cite what you found.",
        input_schema=ResearchIn,
        tools=[search],
    )
    return Agent(
        name="writer",
        model=writing_model,
        instructions="Ask the researcher, then write a crisp brief.",
        tools=[AgentTool(agent=researcher, skip_summarization=False)],
    )


def main() -> Result:
    """On scripted models; the search really runs."""
    writer = build(
        ScriptedModel(call("search", query="bees"), "Bees dance to share where flowers are [1]."),
        ScriptedModel(call("researcher", topic="bees"), "Brief: bees speak by dancing."),
    )
    result = writer.run_sync("A brief on bees, please.")
    print(result.text)
    return result


if __name__ == "__main__":
    main()
