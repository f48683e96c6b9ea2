"""Hand a conversation over to another agent."""

from typing import Annotated

from pydantic import Field

from toolwright.agent._node import AgentNode
from toolwright.errors import ToolError
from toolwright.tools import FunctionTool, ToolContext, tool

__all__ = ["TransferToAgentTool", "resolve_transfer", "transfer_to_agent"]

# Not in the docstring: reading those takes a library that an agent may not need otherwise.
AgentName = Annotated[str, Field(description="The agent's name.")]


def resolve_transfer(agent: AgentNode, name: str) -> AgentNode:
    """The agent with that name that `agent` may hand over to; `ToolError` with the names if none."""
    targets = agent.reachable()
    for target in targets:
        if target.name == name:
            return target
    known = ", ".join(target.name for target in targets) or "none"
    raise ToolError(f"There is no agent {name!r} to transfer to; agents: {known}.")


@tool(effects="read", sequential=True)
def transfer_to_agent(agent_name: AgentName, tool_context: ToolContext) -> str:
    """Hand the conversation over to an agent that suits it better."""
    tool_context.actions.transfer_to_agent = agent_name
    return f"Transferring to {agent_name}."


class TransferToAgentTool(FunctionTool):
    """The tool that an agent with other agents around it is given."""

    def __init__(self, agent: AgentNode) -> None:
        def transfer_to_agent(agent_name: str, tool_context: ToolContext) -> str:
            target = resolve_transfer(agent, agent_name)
            tool_context.actions.transfer_to_agent = target.name
            return f"Transferring to {target.name}."

        lines = [f"- {target.name}: {target.description}" for target in agent.reachable()]
        super().__init__(
            transfer_to_agent,
            description="Hand the conversation over to an agent that suits it better:\n"
            + "\n".join(lines),
            effects="read",
            sequential=True,
        )
