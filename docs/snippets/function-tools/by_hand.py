"""A tool written by hand, for when a signature cannot say it."""

from typing import Any

from toolwright import Agent, BaseTool, ToolContext
from toolwright.messages import ToolSpec
from toolwright.testing import ScriptedModel, call


class Lookup(BaseTool):
    """Looks up a word in a dictionary that is only known at run time."""

    effects = "read"

    def __init__(self, words: dict[str, str]) -> None:
        super().__init__(name="lookup", description="Look a word up.")
        self.words = words

    def _get_declaration(self) -> ToolSpec:
        word = {"type": "string", "enum": sorted(self.words)}
        schema = {"type": "object", "properties": {"word": word}, "required": ["word"]}
        return ToolSpec(name=self.name, description=self.description, parameters=schema)

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> str:
        tool_context.state["last_word"] = args["word"]
        return self.words[args["word"]]


lookup = Lookup({"adze": "a tool for smoothing wood"})
model = ScriptedModel(call("lookup", word="adz"), call("lookup", word="adze"), "Found it.")
result = Agent(name="d", model=model, tools=[lookup]).run_sync("What is an adze?")
