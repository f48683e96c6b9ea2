"""The methods of a subclass of `Hooks` are hooks."""

import dataclasses
from typing import Any

import pytest

from toolwright import Agent, Hooks, Output, Runner, UsageError, tool
from toolwright.testing import ScriptedModel, call

done: list[str] = []


@tool
def wipe(path: str) -> str:
    """Wipe."""
    done.append(path)
    return path


class Guard(Hooks):
    """Lets nothing pass."""

    def before_tool(self, ctx: Any, tool: Any, args: Any) -> Output:  # type: ignore[override,bad-override]
        """Block."""
        return Output(text="blocked", status="denied")

    async def after_agent(self, ctx: Any, text: str) -> str:  # type: ignore[override,bad-override]
        """Shout."""
        return text.upper()


class Listening(Hooks):
    """Has a list of its own."""

    def __init__(self, seen: list[str]) -> None:
        super().__init__()
        self.seen = seen

    def before_tool(self, ctx: Any, tool: Any, args: Any) -> None:  # type: ignore[override,bad-override]
        """Note it."""
        self.seen.append(tool.name)


class Unprepared(Listening):
    """Leaves the other hooks alone."""

    def __init__(self, seen: list[str]) -> None:
        self.seen = seen


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Counted(Guard):
    """A dataclass of one's own."""

    limit: int = 3


def agent(**settings: Any) -> Agent:
    model = ScriptedModel(call("wipe", path="/"), "done")
    return Agent(name="a", model=model, tools=[wipe], **settings)


@pytest.mark.parametrize("hooks", [Guard(), Counted(limit=2), dataclasses.replace(Guard())])
def test_a_method_of_a_subclass_is_called(hooks: Hooks) -> None:
    for result in (agent(hooks=hooks).run_sync("go"), Runner(agent(), hooks=hooks).run_sync("go")):
        assert result.history[2].results[0].text == "blocked"  # type: ignore[missing-attribute,union-attr]
        assert result.text == "DONE"
    assert done == []


def test_a_hook_that_is_given_takes_the_place_of_the_method() -> None:
    result = agent(hooks=Guard(after_agent=lambda ctx, text: "given")).run_sync("go")
    assert result.text == "given"
    assert done == []


@pytest.mark.parametrize("kind", [Listening, Unprepared])
def test_a_subclass_may_have_a_state_of_its_own(kind: type[Listening]) -> None:
    seen: list[str] = []
    hooks = kind(seen)
    assert agent(hooks=hooks).run_sync("go").text == "done"
    assert seen == ["wipe"]
    hooks.seen = []
    del hooks.seen
    with pytest.raises(dataclasses.FrozenInstanceError, match="before_tool"):
        hooks.before_tool = None  # type: ignore[misc,method-assign,read-only,bad-assignment]
    with pytest.raises(AttributeError, match=r"'before_tool_callback'.*called 'before_tool'"):
        hooks.before_tool_callback = None  # type: ignore[missing-attribute]


@pytest.mark.parametrize(
    ("name", "meant"), [("before_tools", "before_tool"), ("after_model_callback", "after_model")]
)
def test_a_method_that_nobody_would_call_is_refused(name: str, meant: str) -> None:
    with pytest.raises(UsageError, match=rf"Mine\.{name} is no hook.*'{meant}'"):
        type("Mine", (Hooks,), {name: lambda self, ctx: None})
    type("Mine", (Hooks,), {"report": lambda self: None, "_before_tools": lambda self: None})
