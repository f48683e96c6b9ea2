"""A tool that is wrapped, or made into a tool again, keeps its settings or is refused."""

import functools
import types
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import pytest

from toolwright import (
    Agent,
    AuthConfig,
    AuthenticatedFunctionTool,
    CustomAuthScheme,
    FunctionTool,
    LongRunningFunctionTool,
    Tool,
    UsageError,
    deferred_tool,
    tool,
)
from toolwright.testing import ScriptedModel, call
from toolwright.tools import as_tool

F = TypeVar("F", bound=Callable[..., Any])


@tool(
    name="wipe_disk", description="Wipes.", require_confirmation=True, effects="destructive",
    sequential=True, tags=("disk",),
)  # fmt: skip
def wipe(path: str, times: int = 1) -> str:
    """Wipe."""
    return f"{path} {times}"


def logged(func: F) -> F:
    """A decorator as people write them."""

    @functools.wraps(func)
    def inner(*args: Any, **kwargs: Any) -> Any:
        return func(*args, **kwargs)

    return inner  # type: ignore[return-value,bad-return]


class Disk:
    """A disk with a tool."""

    @tool(name="wipe_disk", description="Wipes.", require_confirmation=True, effects="destructive",
          sequential=True, tags=("disk",))  # fmt: skip
    def wipe(self, path: str, times: int = 1) -> str:
        """Wipe."""
        return f"{path} {times}"

    logged = logged(wipe)
    twice = functools.partialmethod(wipe, times=2)

    @classmethod
    @tool(name="wipe_disk", description="Wipes.", require_confirmation=True, effects="destructive",
          sequential=True, tags=("disk",))  # fmt: skip
    def wipe_any(cls, path: str, times: int = 1) -> str:
        """Wipe."""
        return f"{path} {times}"


class Wiper:
    """An object that is called."""

    @tool(name="wipe_disk", description="Wipes.", require_confirmation=True, effects="destructive",
          sequential=True, tags=("disk",))  # fmt: skip
    def __call__(self, path: str, times: int = 1) -> str:
        """Wipe."""
        return f"{path} {times}"


make: Any = tool

WRAPPED: dict[str, Any] = {
    "tool": make(wipe),
    "tool()": make()(wipe),
    "FunctionTool": FunctionTool(wipe),
    "partial": functools.partial(wipe),
    "tool of partial": make(functools.partial(wipe)),
    "partial of partial": functools.partial(functools.partial(wipe)),
    "lru_cache": functools.lru_cache(wipe),
    "cache": functools.cache(wipe),
    "decorator": logged(wipe),
    "decorators": functools.partial(logged(functools.cache(logged(wipe)))),
    "tool of decorator": make(logged(wipe)),
    "static": make(staticmethod(wipe)).__func__,
    "method": make(Disk().wipe),
    "partial of method": functools.partial(Disk().wipe),
    "decorated method": Disk().logged,
    "partial of class method": functools.partial(Disk.wipe_any),
    "method by hand": types.MethodType(vars(Disk)["wipe"], Disk()),
    "object": Wiper(),
    "tool of object": make(Wiper()),
    "partial of object": functools.partial(Wiper()),
}


@pytest.mark.parametrize("way", WRAPPED)
def test_a_wrapped_tool_keeps_what_it_was_made_with(way: str) -> None:
    made = as_tool(WRAPPED[way])
    assert (made.name, made.description, made.effects, made.sequential, made.spec.tags) == (
        "wipe_disk", "Wipes.", "destructive", True, ("disk",),
    )  # fmt: skip
    assert made.spec.parameters == wipe.spec.parameters
    assert len(made.confirm) == 1
    model = ScriptedModel(call("wipe_disk", path="/", times=2), "Done.")
    agent = Agent(name="a", model=model, tools=[WRAPPED[way]])
    paused = agent.run_sync("go")
    assert [pending.kind for pending in paused.pending] == ["confirmation"]


def test_what_is_bound_is_no_parameter_any_more() -> None:
    for thing in (functools.partial(wipe, times=2), Disk().twice):
        made = as_tool(thing)
        assert list(made.spec.parameters["properties"]) == ["path"]
        assert len(made.confirm) == 1


def test_settings_that_are_given_again_replace_those_and_the_others_are_kept() -> None:
    for again in (make(name="erase")(wipe), FunctionTool(wipe, name="erase")):
        assert (again.name, again.effects, len(again.confirm)) == ("erase", "destructive", 1)
    quick = make(timeout=5)(wipe)
    assert (quick.name, quick.sequential, len(quick.confirm)) == ("wipe_disk", True, 1)
    third = make(effects="write")(make(name="erase")(functools.partial(quick)))
    assert (third.name, third.effects, len(third.confirm)) == ("erase", "write", 1)
    assert make(require_confirmation=False)(wipe).confirm == ()


def test_async_functions_and_generators_behind_a_tool_still_run_as_such() -> None:
    @tool
    async def later(x: int) -> int:
        """Later."""
        return x + 1

    @tool
    def steps(x: int) -> Iterator[int]:
        """Count."""
        yield from range(x)

    things = [functools.partial(later), make(name="again")(functools.partial(steps)), logged(steps)]
    calls = [call("later", x=1), call("again", x=3)]
    result = Agent(
        name="a", model=ScriptedModel(calls, "Done."), tools=things[:2]
    ).run_sync("go")  # fmt: skip
    assert [r.text for r in result.history[2].results] == ["2", "2"]  # type: ignore[missing-attribute,union-attr]


def ask(question: str) -> str:
    """Ask."""
    return question


def test_other_kinds_of_function_tools_stay_what_they_are() -> None:
    deferred = deferred_tool(timeout=60, require_confirmation=True)(ask)
    slow = LongRunningFunctionTool(ask, name="slow")
    scheme = CustomAuthScheme(type="apiKey", name="X-API-Key", **{"in": "header"})
    login = AuthenticatedFunctionTool(
        ask, AuthConfig(auth_scheme=scheme, credential_key="shop"), effects="read"
    )
    for one in (deferred, slow, login):
        for again in (make(one), make(tags=("x",))(one), as_tool(functools.partial(one))):
            assert type(again) is type(one)
            assert again.fingerprint == one.fingerprint
            assert len(again.confirm) == len(one.confirm)


def test_two_kinds_of_tool_in_one_are_refused_with_what_to_write() -> None:
    slow = LongRunningFunctionTool(ask)
    plain = make(require_confirmation=True)(ask)
    for wrap, thing in (
        (FunctionTool, slow),
        (LongRunningFunctionTool, plain),
        (deferred_tool(), functools.partial(plain)),
    ):
        with pytest.raises(UsageError, match=r"'ask' is a .*FunctionTool already.*give .*\.func"):
            wrap(thing)  # type: ignore[operator]


def test_a_tool_of_a_class_of_ones_own_is_not_made_again_in_silence() -> None:
    class Mine(FunctionTool):
        """Takes nothing."""

        def __init__(self) -> None:
            super().__init__(wipe, require_confirmation=False, name="mine")

    mine = Mine()
    assert (mine.name, mine.effects, mine.confirm) == ("mine", "destructive", ())
    assert as_tool(mine) is mine
    with pytest.raises(UsageError, match="'mine' is a Mine already"):
        as_tool(functools.partial(mine))


def test_a_tool_that_is_no_function_is_no_function_to_make_a_tool_of() -> None:
    plain = wipe.replace()
    assert type(plain) is Tool
    ways: list[Any] = [make, make(name="x"), FunctionTool]
    for again in ways:
        with pytest.raises(UsageError, match=r"<Tool 'wipe_disk'>"):
            again(plain)


def test_an_object_whose_call_is_a_tool_without_a_name_is_named_by_its_class() -> None:
    class Adder:
        """Adds."""

        @tool(require_confirmation=True)
        def __call__(self, a: int) -> int:
            """Add one."""
            return a + 1

    for thing in (Adder(), functools.partial(Adder()), make(Adder())):
        assert (as_tool(thing).name, len(as_tool(thing).confirm)) == ("Adder", 1)
