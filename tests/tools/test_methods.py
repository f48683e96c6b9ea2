"""A method can be a tool: of an object, of a class, or of neither."""

import copy
import pickle
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

import anyio
import pytest

from toolwright import (
    Agent,
    FunctionTool,
    LongRunningFunctionTool,
    ToolContext,
    UsageError,
    deferred_tool,
    tool,
)
from toolwright.testing import ScriptedModel, call


@dataclass
class Notes:
    """Notes, and the tools to keep them."""

    lines: list[str] = field(default_factory=list)

    @tool
    def add(self, line: str) -> str:
        """Add a line."""
        self.lines.append(line)
        return f"{len(self.lines)} lines"

    @tool(name="read_notes", require_confirmation=True)
    async def read(self, tool_context: ToolContext | None = None) -> str:
        """Read all lines."""
        return "\n".join(self.lines)

    @tool
    def later(this, line: str) -> str:
        """Name the object as you like."""
        return f"{len(this.lines)} {line}"

    @staticmethod
    @tool
    def shout(line: str) -> str:
        """Shout."""
        return line.upper()

    @tool
    @staticmethod
    async def whisper(line: str) -> str:
        """Whisper."""
        return line.lower()

    @classmethod
    @tool
    def kind(cls, suffix: str) -> str:
        """What it is."""
        return cls.__name__ + suffix

    @tool
    @classmethod
    def sort_of(cls, suffix: str) -> str:
        """What it is like."""
        return cls.__name__ + suffix

    @deferred_tool(timeout=60)
    def ask(self, question: str) -> str:
        """Ask someone."""
        self.lines.append(question)
        return question

    def plain(self, line: str) -> str:
        """No tool by itself."""
        return line


class Diary(Notes):
    """Notes of another kind."""


def ask(thing: Any, name: str, **arguments: Any) -> str:
    """What the model reads when it calls `thing`."""
    model = ScriptedModel(call(name, **arguments), "Done.")
    result = Agent(name="a", model=model, tools=[thing]).run_sync("go")
    return result.history[2].results[0].text if not result.pending else "pending"  # type: ignore[missing-attribute,union-attr]


def test_a_method_is_a_tool_of_its_object() -> None:
    one, other = Notes(), Notes()
    assert list(one.add.spec.parameters["properties"]) == ["line"]
    assert one.add("in Python") == "1 lines"
    assert ask(one.add, "add", line="by the model") == "2 lines"
    assert one.lines == ["in Python", "by the model"]
    assert other.lines == []


def test_its_settings_hold_and_async_methods_are_awaited() -> None:
    notes = Notes(["a", "b"])
    assert anyio.run(notes.read) == "a\nb"
    assert ask(notes.read, "read_notes") == "pending"
    assert isinstance(notes.ask, FunctionTool)
    assert notes.ask.is_long_running
    assert ask(notes.ask, "ask", question="why?") == "pending"
    assert notes.lines == ["a", "b", "why?"]


def test_the_first_parameter_may_have_any_name() -> None:
    assert ask(Notes(["a"]).later, "later", line="x") == "1 x"
    assert Notes(["a"]).later("x") == "1 x"


@pytest.mark.parametrize("made", [Notes, Diary, Diary()])
def test_static_and_class_methods_are_tools_with_or_without_an_object(made: Any) -> None:
    name = "Notes" if made is Notes else "Diary"
    assert ask(made.shout, "shout", line="hey") == made.shout("hey") == "HEY"
    assert ask(made.whisper, "whisper", line="HEY") == "hey"
    assert ask(made.kind, "kind", suffix="!") == made.kind("!") == f"{name}!"
    assert ask(made.sort_of, "sort_of", suffix="!") == made.sort_of("!") == f"{name}!"


def test_a_method_without_an_object_is_refused_with_what_to_write() -> None:
    for thing in (Notes.add, Notes.plain, FunctionTool(Notes.plain)):
        with pytest.raises(UsageError, match=r"tools=\[obj\.(add|plain)\], not tools=\[Notes\."):
            Agent(name="a", tools=[thing])
    assert ask(Notes().plain, "plain", line="x") == "x"


def test_a_function_that_is_kept_in_a_class_is_not_bound() -> None:
    @tool
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    class Kit:
        """Where it is kept."""

        sum = add
        text = Notes.shout

    assert Kit().sum is add
    assert Kit().sum(1, 2) == 3


def test_other_kinds_of_function_tools_are_bound_too() -> None:
    class Shop:
        """Takes orders."""

        def order(self, item: str) -> dict[str, Any]:
            """Order."""
            return {"status": "pending", "shop": type(self).__name__, "item": item}

        order_tool = LongRunningFunctionTool(order, name="order_tool", timeout=3)

    assert Shop().order_tool("tea") == {"status": "pending", "shop": "Shop", "item": "tea"}
    assert isinstance(Shop().order_tool, LongRunningFunctionTool)
    assert Shop().order_tool.name == "order_tool"


@tool
def double(x: int) -> int:
    """Double."""
    return 2 * x


def triple(x: int) -> int:
    """Triple."""
    return 3 * x


def test_a_tool_goes_through_pickle_as_its_function_would() -> None:
    assert pickle.loads(pickle.dumps(double)) is double
    notes = Notes(["a"])
    again = pickle.loads(pickle.dumps(notes.add))
    assert again("b") == "2 lines"
    assert notes.lines == ["a"]
    made = pickle.loads(pickle.dumps(FunctionTool(triple, name="three_times")))
    assert (made.name, made(2)) == ("three_times", 6)


def test_a_copy_of_a_tool_is_a_tool_that_works() -> None:
    for twin in (copy.copy(double), copy.deepcopy(double), double.replace()):
        assert ask(twin, "double", x=2) == "4"
    notes = Notes()
    twins = copy.deepcopy({"notes": notes, "add": notes.add})
    twins["add"]("a")  # type: ignore[operator,not-callable]
    assert (notes.lines, twins["notes"].lines) == ([], ["a"])  # type: ignore[union-attr,missing-attribute]


def test_a_bound_tool_is_equal_to_itself_as_a_method_is() -> None:
    one, twin = Notes(), Notes()
    assert one == twin
    assert one.add == one.add
    assert len({one.add, one.add, one.read}) == 2
    assert one.add != twin.add
    assert one.add != one.later
    assert one.add != Notes.add
    assert one.add != one.plain
    assert Notes.kind == Notes.kind
    assert Notes.kind != Diary.kind
    assert double != double.replace()
    assert tool(double) != double
    assert tool(name="x")(one.add) != tool(name="x")(one.add)


def test_an_abstract_method_stays_abstract() -> None:
    class Shelf(ABC):
        """To be defined by others."""

        @tool
        @abstractmethod
        def put(self, item: str) -> str:
            """Put."""

        @abstractmethod
        @tool(name="fetch")
        def take(self, item: str) -> str:
            """Take."""

    class Wooden(Shelf):
        """Defines one."""

        @tool
        def put(self, item: str) -> str:
            """Put."""
            return item

        @tool
        def take(self, item: str) -> str:
            """Take."""
            return item

    make: Any = Shelf
    with pytest.raises(TypeError, match="abstract method"):
        make()
    assert Shelf.__abstractmethods__ == {"put", "take"}
    assert Wooden().put("x") == "x"
    assert not hasattr(Wooden.put, "__isabstractmethod__")
