"""Tools of other agent frameworks as ours, and ours as theirs. Each loads its framework on first use."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from toolwright.sources.frameworks._adk import from_adk, to_adk
    from toolwright.sources.frameworks._crewai import from_crewai
    from toolwright.sources.frameworks._langchain import from_langchain, to_langchain
    from toolwright.sources.frameworks._openai_agents import from_openai_agents, to_openai_agents
    from toolwright.sources.frameworks._pydantic_ai import from_pydantic_ai, to_pydantic_ai
    from toolwright.sources.frameworks._smolagents import from_smolagents

__all__ = [
    "from_adk",
    "from_crewai",
    "from_langchain",
    "from_openai_agents",
    "from_pydantic_ai",
    "from_smolagents",
    "to_adk",
    "to_langchain",
    "to_openai_agents",
    "to_pydantic_ai",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    framework = name.partition("_")[2]
    return getattr(import_module(f"{__name__}._{framework}"), name)
