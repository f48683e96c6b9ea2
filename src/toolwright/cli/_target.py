"""What a command works on: an `agent.yaml`, or an object in a Python module."""

from pathlib import Path
from typing import Any

from toolwright.agent import Agent, BaseAgent, Runner
from toolwright.cli._models import choose_model
from toolwright.errors import UsageError
from toolwright.kits import default_agent, import_object, load_agent_file
from toolwright.tools import Tool, Toolset

__all__ = ["DEFAULT_FILE", "open_runner", "open_target", "open_tools"]

DEFAULT_FILE = "agent.yaml"


def open_runner(target: str | None, model: str | None, store: str | None = None) -> Runner:
    """A runner for the agent that `target` names; its model is found here, not at the first turn."""
    if target is None or target.endswith((".yaml", ".yml")):
        return _from_file(target, model, store)
    found = import_object(target)
    if isinstance(found, Runner):
        return found
    if isinstance(found, Agent):
        agent = found.replace(model=choose_model(model, None)) if model else found
        return Runner(agent, app_name=agent.name, store=store or "memory://")
    if isinstance(found, BaseAgent):
        return Runner(found, app_name=found.name, store=store or "memory://")
    if isinstance(found, Tool | Toolset) or callable(found):
        agent = Agent(name="tools", tools=[found], model=choose_model(model, "me"))
        return Runner(agent, app_name="tools", store=store or "memory://")
    raise UsageError(f"{target!r} is {found!r}; wanted an agent, a runner, a tool or a toolset.")


def open_tools(target: str | None) -> Runner:
    """A runner whose tools are wanted, and whose model is never asked."""
    return open_runner(target, "me")


def open_target(target: str | None, model: str | None) -> Any:
    """What is to be served: the tools that a file describes, or the object that is named."""
    if target is not None and not target.endswith((".yaml", ".yml")):
        return import_object(target)
    agent = _from_file(target, model or "me", "memory://").agent
    return list(agent.tools) if isinstance(agent, Agent) else agent


def _from_file(target: str | None, model: str | None, store: str | None) -> Runner:
    path = Path(target or DEFAULT_FILE)
    if target is None and not path.exists():
        return _without_file(model, store)
    loaded = load_agent_file(path)
    agent = loaded.agent.replace(model=choose_model(model, loaded.settings.model))
    return Runner(agent, app_name=agent.name, store=store or loaded.store)


def _without_file(model: str | None, store: str | None) -> Runner:
    """What an empty file describes, when there is none: enough to begin with."""
    agent = default_agent(choose_model(model, None))
    return Runner(agent, app_name=agent.name, store=store or "memory://")
