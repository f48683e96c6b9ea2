"""The `task` tool: hand a piece of work to another agent and get its report."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from toolwright.agent import BaseAgent, run_inside
from toolwright.concurrency import close_all
from toolwright.errors import ToolError
from toolwright.messages import ToolSpec
from toolwright.tools import FunctionTool, Output, SessionInfo, Tool, ToolContext, to_output

__all__ = ["task_tool"]


def task_tool(agents: Mapping[str, BaseAgent]) -> Tool:
    """One tool for all sub-agents; each call starts a fresh run that sees only its description."""

    async def task(description: str, agent: str, tool_context: ToolContext) -> Output:
        """Delegate.

        Args:
            description: What to do, with everything the agent must know, and what to report.
            agent: Which agent does it.
        """
        chosen = agents.get(agent)
        if chosen is None:
            raise ToolError(f"There is no agent {agent!r}; agents: {', '.join(agents)}.")
        outcome = await run_inside(chosen, description, tool_context)
        if outcome.status == "paused":
            return Output(status="pending")
        if outcome.status == "stopped":
            raise ToolError(f"Agent {agent!r} stopped: {outcome.reason}")
        return to_output(outcome.output)

    lines = [f"- {name}: {agent.description}" for name, agent in agents.items()]
    description = "Hand a piece of work to another agent and get its report.\nAgents:\n"
    # Repeating it is safe: whatever finished inside is known and does not run again.
    made = FunctionTool(task, description=description + "\n".join(lines), idempotent=True)

    async def close() -> None:
        await close_all([agent.close for agent in agents.values()])

    async def end_session(session: SessionInfo) -> None:
        await close_all([partial(agent.end_session, session) for agent in agents.values()])

    spec = _listing(made.spec, list(agents))
    inside = tuple(agents.values())
    return made.replace(spec=spec, inside=inside, close=close, end_session=end_session)


def _listing(spec: ToolSpec, names: list[str]) -> ToolSpec:
    """Show the model which agents there are; that the name is one of them, the tool checks."""
    properties = spec.parameters["properties"]
    agent = {**properties["agent"], "enum": names}
    return replace(
        spec, parameters={**spec.parameters, "properties": {**properties, "agent": agent}}
    )
