"""A toolset that offers readers, editors and admins different tools."""

from toolwright import Agent, BaseToolset, FunctionTool, ReadonlyContext, Result
from toolwright.testing import ScriptedModel, call
from toolwright.tools import ToolLike


class RoleBasedToolset(BaseToolset):
    """Lists what the role in the session's state may do."""

    def __init__(self) -> None:
        super().__init__()
        self.values: dict[str, str] = {"motto": "measure twice, cut once"}

    async def get_tools(self, readonly_context: ReadonlyContext | None = None) -> list[ToolLike]:
        """More for editors, everything for admins."""
        role = readonly_context.state.get("user_role", "guest") if readonly_context else "guest"
        tools: list[ToolLike] = [FunctionTool(self.read_data, effects="read")]
        if role in ("editor", "admin"):
            tools.append(self.write_data)
        if role == "admin":
            tools.append(FunctionTool(self.delete_data, effects="destructive"))
        return tools

    async def read_data(self, key: str) -> dict[str, str | None]:
        """Read a value."""
        return {"value": self.values.get(key)}

    async def write_data(self, key: str, value: str) -> dict[str, bool]:
        """Write a value."""
        self.values[key] = value
        return {"ok": True}

    async def delete_data(self, key: str) -> dict[str, bool]:
        """Delete a value."""
        return {"deleted": self.values.pop(key, None) is not None}

    async def close(self) -> None:
        """Where a database connection would be closed."""


def ask(role: str) -> tuple[Result, list[str]]:
    """Try to delete something in a role; returns the run and the tools the model was told of."""
    model = ScriptedModel(call("delete_data", key="motto"), "That is all I can say.")
    agent = Agent(name="data_agent", model=model, tools=[RoleBasedToolset()])
    result = agent.run_sync("Delete the motto", state={"user_role": role})
    return result, [spec.name for spec in model.requests[0].tools]


def main() -> dict[str, list[str]]:
    """Who is offered what."""
    offered = {role: ask(role)[1] for role in ("guest", "editor", "admin")}
    print(offered)
    return offered


if __name__ == "__main__":
    main()
