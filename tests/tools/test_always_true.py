"""A predicate whose answer is always true, whatever it means to say, is refused where it is given."""

import functools
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from toolwright import Agent, FunctionTool, Rule, UsageError, rules, tool
from toolwright.testing import ScriptedModel, call
from toolwright.tools import Toolset, filtered


@tool
def pay(cents: int) -> str:
    """Pay."""
    return "paid"


def plain(*_: Any, cents: int = 0) -> Iterator[bool]:
    yield False


async def waiting(*_: Any, cents: int = 0) -> AsyncIterator[bool]:
    yield False


class Judge:
    def __call__(self, *_: Any, cents: int = 0) -> Iterator[bool]:
        yield False


KINDS: dict[str, Any] = {
    "generator": plain,
    "async generator": waiting,
    "part of one": functools.partial(waiting, cents=1),
    "object": Judge(),
    "class": Judge,
}
PLACES: dict[str, Callable[[Any], Any]] = {
    "when": lambda given: rules(Rule.allow("pay", when=given)),
    "require_confirmation": lambda given: FunctionTool(pay.func, require_confirmation=given),
    "interrupt_on": lambda given: Agent(name="a", tools=[pay], interrupt_on={"pay": given}),
    "is_enabled": lambda given: pay.replace(is_enabled=given),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("place", PLACES)
def test_what_is_always_true_is_refused_when_it_is_given(place: str, kind: str) -> None:
    with pytest.raises(UsageError, match="whose answer would always count as true"):
        PLACES[place](KINDS[kind])


async def later(*_: Any) -> bool:
    return False


@pytest.mark.anyio
@pytest.mark.parametrize("kind", [*KINDS.values(), later], ids=[*KINDS, "async"])
async def test_a_filter_that_is_always_true_is_refused_when_tools_are_listed(kind: Any) -> None:
    class Listed(Toolset):
        async def get_tools(self, readonly_context: Any = None) -> list[Any]:
            return [pay]

    for toolset in (Listed(tool_filter=kind), filtered([pay], kind)):
        with pytest.raises(UsageError, match="whose answer would always count as true"):
            await toolset.list_tools()


@pytest.mark.anyio
@pytest.mark.parametrize("given", [plain, waiting, later], ids=["plain", "waiting", "function"])
async def test_what_a_predicate_returns_that_is_always_true_is_no_yes(given: Any) -> None:
    def allowed(cents: int) -> Any:
        return given if given is later else given(cents=cents)

    model = ScriptedModel(call("pay", cents=5), ".")
    policy = rules(Rule.allow("pay", when=allowed), otherwise="deny")
    done = await Agent(name="a", model=model, tools=[pay], policy=policy).run("go")
    [result] = [r for m in done.history if m.kind == "tool" for r in m.results]
    assert result.status == "error"
    assert "which would always count as true" in result.text
