from toolwright import Agent, web_tools
from toolwright.builtin import SearchResult
from toolwright.testing import ScriptedModel, call


class Intranet:
    """Any object with this method is a search engine."""

    async def search(self, query: str, max_results: int) -> list[SearchResult]:
        pages = [SearchResult(title="Holidays", url="https://intranet.example/holidays")]
        return pages[:max_results]


model = ScriptedModel(call("web_search", query="holidays"), "See the page on holidays.")
agent = Agent(name="helper", model=model, tools=web_tools(engine=Intranet()))
result = agent.run_sync("How many days off do I have?")
