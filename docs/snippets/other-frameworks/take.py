from pydantic_ai import Agent
from pydantic_ai.models.test import TestModel

from toolwright import ToolContext, tool
from toolwright.sources import to_pydantic_ai


@tool
def greet(name: str, tool_context: ToolContext) -> str:
    """Greet somebody."""
    return f"{tool_context.deps} greets {name}."


agent = Agent(TestModel(), tools=[to_pydantic_ai(greet)], deps_type=str)
result = agent.run_sync("Greet everybody", deps="Ada")
