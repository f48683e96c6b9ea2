"""Subclasses outside the library have attributes of their own, but none that looks like a setting."""

from typing import Any

import pytest

from toolwright import Agent, BaseTool, FunctionTool, Runner, Toolset, UsageError, tool
from toolwright.models import ModelSettings


def double(x: int) -> int:
    """Double."""
    return 2 * x


class Echo(BaseTool):
    """A tool by hand."""


class Doubler(FunctionTool):
    """A function tool of one's own."""


class Helper(Agent):
    """An agent of one's own."""


class Kit(Toolset):
    """A toolset of one's own."""


MADE: dict[str, Any] = {
    "tool": Echo(name="echo"),
    "function": Doubler(double),
    "agent": Helper(name="helper"),
    "toolset": Kit(),
}


@pytest.mark.parametrize(
    ("thing", "name", "hint"),
    [
        ("tool", "require_confirmation", r"a tool: @tool\(require_confirmation=…\)"),
        ("tool", "timeout", "would do nothing"),
        ("tool", "requires_approval", r"a tool: @tool\(require_confirmation=…\)"),
        ("tool", "descripton", "Did you mean 'description'"),
        ("tool", "effect", "Did you mean 'effects'"),
        ("tool", "require_confirmaton", "Did you mean 'require_confirmation'"),
        ("function", "requires_approval", "called 'require_confirmation'"),
        ("agent", "instruction", "called 'instructions'"),
        ("agent", "before_tool_callback", r"hooks=Hooks\(before_tool=…\)"),
        ("agent", "temperature", "settings=ModelSettings"),
        ("agent", "require_confirmation", r"@tool\(require_confirmation=…\)"),
        ("toolset", "filter", "called 'tool_filter'"),
    ],
)
def test_what_looks_like_a_setting_but_is_none_is_refused(thing: str, name: str, hint: str) -> None:
    kind = type(MADE[thing]).__name__
    with pytest.raises(AttributeError, match=rf"^{kind} has no attribute '{name}'.*{hint}") as e:
        setattr(MADE[thing], name, True)
    assert f"declare it in class {kind}" in str(e.value)
    assert not hasattr(MADE[thing], name)


def test_what_the_class_defines_or_uses_itself_is_free() -> None:
    class Mine(BaseTool):
        """Uses names that are settings elsewhere."""

        timeout: float
        retries = 3

        def __init__(self) -> None:
            super().__init__(name="mine")
            self.policy = "strict"

        async def run_async(self, *, args: Any, tool_context: Any) -> Any:
            """Look at what was set."""
            return self.instruction  # type: ignore[missing-attribute]

    class Quiet(Mine):
        """Inherits it all."""

    for made in (Mine(), Quiet()):
        made.timeout, made.retries, made.policy, made.effects = 5, 4, "lax", "read"
        made.instruction = "x"  # type: ignore[missing-attribute]
        made.my_tag = made.counter = 1  # type: ignore[missing-attribute]
        assert (made.timeout, made.retries, made.policy) == (5, 4, "lax")


def test_a_class_attribute_that_the_constructor_would_cover_is_refused() -> None:
    def subclass(base: type, **attributes: Any) -> type:
        return type("Mine", (base,), attributes)

    for base, name, value in [
        (Agent, "instructions", "hello"), (Agent, "tools", [double]), (Agent, "hooks", None),
        (Agent, "instructions", double), (FunctionTool, "require_confirmation", True),
        (Toolset, "tool_name_prefix", "x"), (BaseTool, "description", "x"),
    ]:  # fmt: skip
        with pytest.raises(UsageError, match=rf"Mine\.{name} .*super\(\)\.__init__\(…, {name}=…\)"):
            subclass(base, **{name: value})


def test_a_class_attribute_that_does_something_is_taken() -> None:
    class Named(BaseTool):
        """Hands its own on."""

        name = "named"

        def __init__(self) -> None:
            super().__init__(name=self.name)

    class Own(Agent):
        """Its model is worked out."""

        effects = "read"

        @property
        def model(self) -> Any:
            """Whatever."""
            return "mine"

    class Reading(BaseTool):
        """Only reads."""

        effects = "read"

    assert Named().name == "named"
    assert Own(name="a").model == "mine"
    assert Reading(name="r").as_tool().effects == "read"


def test_what_may_be_changed_is_checked_like_when_it_is_made() -> None:
    runner: Any = Runner(Agent(name="a"))
    with pytest.raises(UsageError, match="Runner takes an agent as 'agent'; got 3"):
        runner.agent = 3
    kit: Any = Kit()
    with pytest.raises(UsageError, match="as 'tool_name_prefix'; got 7"):
        kit.tool_name_prefix = 7
    runner.agent, kit.tool_name_prefix = Agent(name="b"), None
    assert runner.agent.name == "b"


def test_the_settings_of_a_model_are_known_too() -> None:
    assert ModelSettings(top_p=0.5).top_p == 0.5
    with pytest.raises(AttributeError, match="'top_p'"):
        MADE["tool"].top_p = 0.5
    assert tool(double).name == "double"
