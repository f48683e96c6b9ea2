"""Toolsets: listed for a context, filtered, prefixed, renamed, combined, cached per run."""

from typing import Any

import pytest

from toolwright import Agent, FunctionTool, ReadonlyContext, Toolset, tool
from toolwright.testing import ScriptedModel, call
from toolwright.tools import Tool, combined, filtered, prefixed, renamed

pytestmark = pytest.mark.anyio


@tool
async def list_pets() -> str:
    """List pets."""
    return "Rex"


@tool
async def add_pet(name: str) -> str:
    """Add a pet."""
    return f"added {name}"


class RoleBased(Toolset):
    """More tools for an admin."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.asked = 0
        self.closed = False

    async def get_tools(self, readonly_context: ReadonlyContext | None = None) -> list[Tool]:
        self.asked += 1
        role = readonly_context.state.get("role") if readonly_context else None
        return [list_pets, add_pet] if role == "admin" else [list_pets]

    async def close(self) -> None:
        self.closed = True


async def names(toolset: Toolset) -> list[str]:
    return [t.name for t in await toolset.list_tools(None)]


@pytest.mark.parametrize(
    ("role", "listed"), [("admin", ["list_pets", "add_pet"]), ("guest", ["list_pets"])]
)
async def test_a_toolset_lists_by_context(role: str, listed: list[str]) -> None:
    model = ScriptedModel("hi")
    await Agent(name="t", model=model, tools=[RoleBased()]).run("go", state={"role": role})
    assert [spec.name for spec in model.requests[0].tools] == listed


async def test_the_underscore_of_a_prefix_is_added_only_when_missing() -> None:
    assert await names(prefixed([list_pets], "petstore_")) == ["petstore_list_pets"]
    assert await names(prefixed([list_pets], "petstore")) == ["petstore_list_pets"]
    assert await names(RoleBased(tool_name_prefix="shop")) == ["shop_list_pets"]


async def test_a_prefixed_tool_runs_under_its_new_name_only() -> None:
    model = ScriptedModel([call("shop_list_pets"), call("list_pets")], ".")
    result = await Agent(name="t", model=model, tools=[RoleBased(tool_name_prefix="shop")]).run(
        "go"
    )
    first, second = result.history[2].results  # type: ignore[union-attr]
    assert first.text == "Rex"
    assert "Near names: shop_list_pets" in second.text


@pytest.mark.row("004-K2", "004-H4d")
async def test_filters_take_names_or_a_predicate_over_the_unprefixed_tools() -> None:
    both = [list_pets, add_pet]
    assert await names(filtered(both, ["add_pet"])) == ["add_pet"]
    assert await names(filtered(both, lambda t, ctx: t.name.startswith("list"))) == ["list_pets"]
    assert await names(RoleBased(tool_filter=["list_pets"], tool_name_prefix="x")) == [
        "x_list_pets"
    ]


async def test_toolsets_are_renamed_and_combined() -> None:
    made = combined(renamed([list_pets], {"list_pets": "pets"}), [add_pet])
    assert await names(made) == ["pets", "add_pet"]


@pytest.mark.row("004-H4a")
@pytest.mark.parametrize(("cached", "asked"), [(True, 1), (False, 3)])
async def test_a_listing_is_cached_per_run_unless_turned_off(cached: bool, asked: int) -> None:
    toolset = RoleBased()
    toolset.cache_listing = cached
    model = ScriptedModel(call("list_pets"), call("list_pets"), ".")
    await Agent(name="t", model=model, tools=[toolset]).run("go")
    assert toolset.asked == asked


async def test_a_list_that_changes_between_turns_changes_what_the_model_is_told() -> None:
    class Growing(Toolset):
        cache_listing = False

        async def get_tools(self, readonly_context: ReadonlyContext | None = None) -> list[Tool]:
            grown = readonly_context is not None and "grown" in readonly_context.state
            return [grow, list_pets] if grown else [grow]

    def grow_up(tool_context: Any) -> str:
        """Grow."""
        tool_context.state["grown"] = True
        return "ok"

    grow = FunctionTool(grow_up)
    model = ScriptedModel(call("grow_up"), call("list_pets"), ".")
    await Agent(name="t", model=model, tools=[Growing()]).run("go")
    assert [len(request.tools) for request in model.requests] == [1, 2, 2]


async def test_closing_the_agent_closes_its_toolsets() -> None:
    toolset = RoleBased()
    agent = Agent(
        name="t", model=ScriptedModel(), sub_agents=[Agent(name="c", tools=[combined(toolset)])]
    )
    await agent.close()
    assert toolset.closed
