"""What can be made can be looked at, and no attribute can be set on it that would do nothing."""

import copy
import dataclasses
import enum
import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any, is_typeddict

import pytest
from pydantic import BaseModel
from tests._units import UNITS

import toolwright
from toolwright import (
    Agent,
    AgentTool,
    BaseTool,
    BashToolPolicy,
    CompositeBackend,
    ExecuteBashTool,
    FilesystemBackend,
    FunctionTool,
    Limits,
    LongRunningFunctionTool,
    MaxOutput,
    McpToolset,
    ModelSettings,
    Orchestrator,
    Rule,
    Runner,
    SequentialAgent,
    ShellToolset,
    SkillRegistry,
    SkillToolset,
    StateBackend,
    Toolset,
    VertexAiSearchTool,
    Workflow,
    tool,
)
from toolwright.agent import START
from toolwright.backends import LocalExecutor, MemoryStore, PortableSandbox
from toolwright.messages import Event, TextPart
from toolwright.models import OpenAIModel
from toolwright.testing import ScriptedModel
from toolwright.tools import Tool


@tool
def wipe(path: str) -> str:
    """Wipe."""
    return path


def double(x: int) -> int:
    """Double."""
    return 2 * x


def public_classes() -> Iterator[tuple[str, type]]:
    for module in (toolwright, *(importlib.import_module(f"toolwright.{unit}") for unit in UNITS)):
        for name in module.__all__:
            try:
                value = getattr(module, name)
            except ImportError:
                continue
            if inspect.isclass(value) and value.__module__.startswith("toolwright."):
                yield f"{module.__name__}.{name}", value


def is_open(cls: type) -> bool:
    """Exceptions, dictionaries, pydantic models and what others are to define are what they are."""
    kinds = (BaseException, dict, BaseModel, enum.Enum)
    return issubclass(cls, kinds) or is_typeddict(cls) or getattr(cls, "_is_protocol", False)


CLASSES = {name: cls for name, cls in public_classes() if not is_open(cls)}


@pytest.mark.parametrize("name", CLASSES)
def test_an_attribute_that_would_do_nothing_cannot_be_set_on(name: str) -> None:
    cls = CLASSES[name]
    thing: Any = object.__new__(cls)
    if hasattr(thing, "__dict__") and hasattr(cls, "_sealed"):
        vars(thing)["_sealed"] = True  # as its `__init__` leaves it
    with pytest.raises((AttributeError, TypeError)):
        thing.would_do_nothing = 1
    assert not hasattr(thing, "would_do_nothing")


@pytest.mark.parametrize("name", ["__doc__", "__name__", "__annotations__", "__call__", "__x__"])
def test_what_python_reads_of_a_function_cannot_be_set_on_its_tool(name: str) -> None:
    before = getattr(wipe, name, None)
    with pytest.raises(AttributeError, match=f"'{name}' of FunctionTool 'wipe' is read when it"):
        setattr(wipe, name, "new")
    assert getattr(wipe, name, None) == before
    agent = Agent(name="a")
    with pytest.raises(AttributeError, match="make another one"):
        setattr(agent, name, "new")


def test_the_setting_that_does_it_is_named() -> None:
    with pytest.raises(AttributeError, match=r"make another one: FunctionTool\(…, description=…\)"):
        wipe.__doc__ = "new"


def test_a_class_of_the_users_own_may_have_such_attributes() -> None:
    class Mine(FunctionTool):
        """Mine."""

    mine = Mine(double)
    mine.__doc__ = "new"
    assert mine.__doc__ == "new"


def made(tmp_path: Path) -> list[Any]:
    agent = Agent(name="a", model=ScriptedModel())
    return [
        agent,
        SequentialAgent(name="s", sub_agents=[Agent(name="b")]),
        Workflow(name="w", nodes={"x": wipe}, edges=[(START, "x")]),
        Runner(agent),
        Orchestrator(f"sqlite:///{tmp_path}-tasks.db"),
        wipe,
        wipe.replace(),
        AgentTool(agent),
        LongRunningFunctionTool(double),
        ExecuteBashTool(workspace=tmp_path),
        Toolset(),
        BaseTool(name="t"),
        ShellToolset(tmp_path),
        SkillToolset([]),
        SkillRegistry(tmp_path),
        McpToolset("http://127.0.0.1:9/mcp"),
        PortableSandbox(tmp_path),
        LocalExecutor(tmp_path),
        FilesystemBackend(tmp_path),
        StateBackend({}),
        CompositeBackend(default=StateBackend({}), routes={}),
        MemoryStore(),
        ScriptedModel(),
        OpenAIModel("gpt-5", api_key="sk-none"),
        VertexAiSearchTool(data_store_id="x"),
        Limits(),
        ModelSettings(),
        MaxOutput(),
        BashToolPolicy(),
        Rule(tools=("wipe",), verdict="deny"),
    ]


def test_whatever_is_made_is_complete_can_be_shown_and_copied(tmp_path: Path) -> None:
    for thing in made(tmp_path):
        name = type(thing).__name__
        with pytest.raises(AttributeError, match=f"{name} has no attribute 'my_tag'; setting it"):
            thing.my_tag = 1
        assert repr(thing)
        assert len(repr(thing)) < 400
        assert dir(thing)
        assert isinstance(copy.copy(thing), type(thing))


@pytest.mark.parametrize("setting", ["require_confirmation", "timeout", "name", "description"])
def test_a_late_setting_of_a_tool_is_refused_with_what_to_write(setting: str) -> None:
    with pytest.raises(AttributeError, match=rf"cannot be changed; make another.*, {setting}=…\)"):
        setattr(wipe, setting, "x")
    with pytest.raises(AttributeError, match=r"of Tool 'wipe' cannot be.*tool\.replace\(run=…\)"):
        wipe.replace().run = wipe.run  # type: ignore[misc,read-only]


def test_nothing_can_be_deleted(tmp_path: Path) -> None:
    runner = Runner(Agent(name="a"))
    for thing, name in [
        (runner.agent, "name"), (runner, "agent"), (wipe, "func"), (wipe, "run"),
        (wipe.replace(), "run"), (Limits(), "turns"), (LocalExecutor(tmp_path), "run"),
    ]:  # fmt: skip
        with pytest.raises(AttributeError, match="cannot be"):
            delattr(thing, name)
        assert hasattr(thing, name)


def test_what_does_something_can_be_set() -> None:
    runner, agent = Runner(Agent(name="a")), Agent(name="b")
    runner.agent, runner.deps = agent, 3
    assert (runner.agent, runner.deps) == (agent, 3)
    toolset = Toolset()
    toolset.cache_listing = False
    toolset.tool_name_prefix = "x"
    with pytest.raises(AttributeError, match=r"make another one: Runner\(…, store=…\)"):
        runner.store = MemoryStore()
    with pytest.raises(AttributeError, match=r"make another one: Runner\(…, memory=…\)"):
        runner.memory = "sqlite://"  # type: ignore[missing-attribute]


def test_subclasses_of_the_users_own_have_attributes_of_their_own() -> None:
    class Mine(FunctionTool):
        """Counts its objects."""

        def __init__(self) -> None:
            super().__init__(double)
            self.count = 0

    class Kit(Toolset):
        """Two lists."""

        def __init__(self) -> None:
            super().__init__()
            self.listed: list[Tool] = []
            self.tool_name_prefix = "kit"

    mine, kit = Mine(), Kit()
    mine.count += 1
    kit.more = 1  # type: ignore[missing-attribute]
    del kit.more  # type: ignore[missing-attribute]
    assert mine.count == 1
    with pytest.raises(AttributeError, match="'retries' of Mine 'double' cannot be changed"):
        mine.retries = 3  # type: ignore[missing-attribute]


def test_frozen_values_say_how_to_make_another() -> None:
    with pytest.raises(
        dataclasses.FrozenInstanceError, match=r"dataclasses\.replace\(…, turns=…\)"
    ):
        Limits().turns = 3  # type: ignore[misc,read-only]
    with pytest.raises(AttributeError, match="Did you mean 'temperature'"):
        ModelSettings().temperatur = 1  # type: ignore[missing-attribute]
    with pytest.raises(dataclasses.FrozenInstanceError):
        TextPart("x").text = "y"  # type: ignore[misc,read-only]
    assert dataclasses.replace(Limits(), turns=3).turns == 3
    assert dataclasses.fields(Event)
