"""What a command works on: an `agent.yaml`, or an object in a Python module."""

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolwright.agent import Agent, BaseAgent, Runner
from toolwright.backends import Store, sqlite_path
from toolwright.cli._models import choose_model
from toolwright.cli._options import refuse_empty
from toolwright.cli._out import note
from toolwright.cli._state import default_store, has_tables, make_private
from toolwright.cli._trust import import_trusted, trusted_file
from toolwright.errors import UsageError
from toolwright.kits import default_agent, load_agent_file
from toolwright.tools import Tool, Toolset

__all__ = [
    "DEFAULT_FILE",
    "Target",
    "is_made",
    "made",
    "open_runner",
    "open_stored",
    "open_target",
    "open_tools",
    "read_tools",
]

DEFAULT_FILE = "agent.yaml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What the options of a command name."""

    agent: str | None = None
    model: str | None = None
    store: str | None = None

    def __post_init__(self) -> None:
        refuse_empty(self._options())

    def words(self) -> str:
        """The options that name the same again."""
        return "".join(
            f" {option} {shlex.quote(value)}" for option, value in self._options().items()
        )

    def _options(self) -> dict[str, str]:
        given = {"--agent": self.agent, "--model": self.model, "--store": self.store}
        return {option: value for option, value in given.items() if value is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """An agent and the address of its sessions, or a runner that knows both."""

    agent: BaseAgent | None = None
    store: str = ""
    runner: Runner | None = None


def open_runner(target: Target) -> Runner:
    """A runner for the agent; its model is found here, not at the first turn."""
    found = _find(target)
    if found.runner is not None:
        return found.runner
    assert found.agent is not None
    store = target.store or _prepared(found.store)
    return Runner(found.agent, app_name=found.agent.name, store=store)


def open_stored(target: Target) -> Runner | None:
    """`open_runner` for reading: None, and nothing is made, where no session was ever stored."""
    found = _find(target)
    if found.runner is not None:
        return found.runner if is_made(found.runner.store) else None
    assert found.agent is not None
    store = target.store or found.store
    if not has_tables(store, "sessions"):
        if target.store:
            raise UsageError(f"There is no database with sessions at {target.store}.")
        return None
    return Runner(found.agent, app_name=found.agent.name, store=store)


def read_tools(agent: str | None) -> Runner:
    """`open_tools` for looking at them: nothing is stored, so nothing is made."""
    found = _find(Target(agent=agent, model="me"))
    if found.runner is not None:
        return found.runner
    assert found.agent is not None
    return Runner(found.agent, app_name=found.agent.name)


def open_tools(agent: str | None) -> Runner:
    """A runner whose tools are wanted, and whose model is never asked; its store is not made yet."""
    found = _find(Target(agent=agent, model="me"))
    if found.runner is not None:
        return found.runner
    assert found.agent is not None
    return Runner(found.agent, app_name=found.agent.name, store=found.store)


def is_made(store: Store) -> bool:
    """Whether the store is there already; one in memory, and one of somebody's own, always is."""
    database = getattr(store, "database", None)
    return database is None or has_tables(str(database), "sessions")


def made(store: Store) -> Store | None:
    """The store, for nobody but this person; None where it cannot be made, which was said."""
    address = str(getattr(store, "database", ""))
    return store if not address or _prepared(address) == address else None


def open_target(target: str | None, model: str | None) -> Any:
    """What is to be served: a runner for the tools that a file describes, and its rules; or the
    object that is named."""
    if not _is_file(target):
        return import_trusted(target or "")
    found = _from_file(Target(agent=target, model="me" if model is None else model)).agent
    assert found is not None
    return Runner(found, app_name=found.name)


def _is_file(target: str | None) -> bool:
    return target is None or target.endswith((".yaml", ".yml"))


def _find(target: Target) -> _Found:
    if _is_file(target.agent):
        return _from_file(target)
    name = target.agent or ""
    found = import_trusted(name)
    if isinstance(found, Runner):
        return _Found(runner=_with_options(found, name, target))
    if isinstance(found, BaseAgent):
        return _Found(agent=_with_model(found, target.model), store=default_store())
    if isinstance(found, Tool | Toolset) or callable(found):
        agent = Agent(name="tools", tools=[found], model=choose_model(target.model, "me"))
        return _Found(agent=agent, store=default_store())
    raise UsageError(f"{name!r} is {found!r}; wanted an agent, a runner, a tool or a toolset.")


def _with_options(runner: Runner, name: str, target: Target) -> Runner:
    if target.store:
        raise UsageError(f"{name!r} is a runner with a store of its own; leave out --store.")
    runner.agent = _with_model(runner.agent, target.model)
    return runner


def _with_model(agent: Any, model: str | None) -> Any:
    """The agent with the model that was asked for; one that has none gets what there is.

    The agents inside it that have no model use the same; those that have one keep it.
    """
    if not agent.has_model or (model and isinstance(agent, Agent)):
        return agent.with_model(choose_model(model, None))
    # A person as the model means that the model is not going to be asked.
    if model and model != "me":
        raise UsageError(
            f"{agent.name!r} is a workflow whose agents all have models; leave out --model."
        )
    return agent


def _from_file(target: Target) -> _Found:
    path = Path(target.agent or DEFAULT_FILE)
    if target.agent is None and not path.exists():
        # What an empty file describes: enough to begin with.
        agent = default_agent(choose_model(target.model, None))
        return _Found(agent=agent, store=default_store())
    loaded = load_agent_file(trusted_file(path))
    agent = loaded.agent.replace(model=choose_model(target.model, loaded.settings.model))
    return _Found(agent=agent, store=loaded.store_address)


def _prepared(store: str) -> str:
    """The address, with its file made; without a place of their own, sessions are not kept."""
    path = sqlite_path(store)
    if path is None:
        return store
    try:
        make_private(path)
    except OSError as error:
        told = f"Sessions cannot be kept in {path}: {error.strerror}."
        if store != default_store():
            raise UsageError(told) from error
        note(f"{told} This one is lost when the program ends.")
        return "memory://"
    return store
