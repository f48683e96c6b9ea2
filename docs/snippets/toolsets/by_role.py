"""A toolset lists other tools for each user."""

from typing import Any

from toolwright import Agent, ReadonlyContext, Toolset
from toolwright.testing import ScriptedModel, call
from toolwright.tools import ToolLike


class RoleBasedToolset(Toolset):
    """Guests may read; editors may write, too."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.values: dict[str, str] = {"motto": "measure twice"}

    async def get_tools(self, readonly_context: ReadonlyContext | None = None) -> list[ToolLike]:
        role = readonly_context.state.get("user_role") if readonly_context else None
        return [self.read, self.write] if role == "editor" else [self.read]

    def read(self, key: str) -> str:
        """Read a value."""
        return self.values[key]

    def write(self, key: str, value: str) -> str:
        """Write a value."""
        self.values[key] = value
        return "Written."

    async def close(self) -> None:
        """Where connections would be closed; `Runner.close` and `Agent.close` call it."""


def ask(role: str) -> list[str]:
    """The tools that the model is told of."""
    model = ScriptedModel(call("data_read", key="motto"), "It says: measure twice.")
    agent = Agent(name="clerk", model=model, tools=[RoleBasedToolset(tool_name_prefix="data")])
    agent.run_sync("What does the motto say?", state={"user_role": role})
    return [spec.name for spec in model.requests[0].tools]


print(ask("guest"), ask("editor"))
