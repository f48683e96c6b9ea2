"""Tools that a search has found, in the words of the providers that load them there and then."""

import json
from typing import Any

import pytest
from tests.models.providers import SEARCHING, Provider
from tests.models.wire import Wire

from toolwright import Agent, Runner, searchable, tool
from toolwright.models._anthropic.traits import traits_of
from toolwright.models._openai.responses import _LOADS_TOOLS
from toolwright.testing import ScriptedModel, call

pytestmark = pytest.mark.anyio


@tool
def send_label(amount: int) -> str:
    """Send labels to a customer."""
    return f"{amount} sent"


async def bodies(provider: Provider, query: str = "labels") -> list[Any]:
    provider.will_find(query)
    provider.will_call_found(("send_label", {"amount": 2}))
    provider.will("Done.")
    await Agent(name="a", model=provider.model, tools=[searchable([send_label])]).run("Send two.")
    return provider.wire.bodies


async def test_claude_is_referred_to_tools_that_are_loaded_later(wire: Wire) -> None:
    first, second, third = await bodies(SEARCHING["anthropic-loading"](wire))

    assert [one["name"] for one in first["tools"]] == ["search_tools"]
    # The mark is on a tool that is there from the start; the others may have none.
    assert [one["name"] for one in second["tools"]] == ["search_tools", "send_label"]
    assert "cache_control" in second["tools"][0]
    assert second["tools"][1]["defer_loading"] is True
    assert "cache_control" not in second["tools"][1]
    [result] = second["messages"][-1]["content"]
    assert result["content"] == [{"type": "tool_reference", "tool_name": "send_label"}]
    called = third["messages"][-2]["content"][0]
    assert (called["name"], called["input"]) == ("send_label", {"amount": 2})


async def test_gpt_makes_its_own_search_and_gets_the_tools_as_its_result(wire: Wire) -> None:
    first, second, third = await bodies(SEARCHING["responses-loading"](wire))

    assert first["tools"] == second["tools"] == third["tools"]
    [search] = first["tools"]
    assert (search["type"], search["execution"]) == ("tool_search", "client")
    assert "query" in search["parameters"]["properties"]
    assert search["description"].startswith("Find tools by what they do.")
    asked, found = second["input"][-2:]
    assert asked["type"] == "tool_search_call"
    assert (found["type"], found["call_id"], found["execution"]) == (
        "tool_search_output",
        asked["call_id"],
        "client",
    )
    [loaded] = found["tools"]
    assert (loaded["type"], loaded["name"], loaded["defer_loading"]) == (
        "function",
        "send_label",
        True,
    )
    called, done = third["input"][-2:]
    assert (called["type"], called["name"]) == ("function_call", "send_label")
    assert done["output"] == "2 sent"


async def test_gpt_reads_why_a_search_has_found_nothing(wire: Wire) -> None:
    _, second, _ = await bodies(SEARCHING["responses-loading"](wire), "submarines")

    _, found, told = second["input"][-3:]
    assert found["tools"] == []
    assert told["role"] == "developer"
    assert told["content"].startswith("No tool fits 'submarines'")


async def test_a_search_that_another_model_has_made_is_one_of_its_own(wire: Wire) -> None:
    """A conversation that begins with one model and goes on with another."""

    scripted = ScriptedModel(call("search_tools", query="labels"), "Found.")
    provider = SEARCHING["responses-loading"](wire)
    provider.will("Done.")
    tools = [searchable([send_label])]
    runner = Runner(Agent(name="a", model=scripted, tools=tools))
    await runner.run("Look.", session_id="s")
    agent = Agent(name="a", model=provider.model, tools=tools)
    await Runner(agent, store=runner.store).run("Send.", session_id="s")

    kinds = [item["type"] for item in wire.bodies[0]["input"]]
    assert kinds == ["message", "tool_search_call", "tool_search_output", "message", "message"]


@pytest.mark.parametrize("kind", ["anthropic", "responses", "chat", "gemini"])
async def test_elsewhere_a_call_stays_as_the_model_made_it(wire: Wire, kind: str) -> None:
    *_, third = await bodies(SEARCHING[kind](wire))
    # The call, and for Gemini its result, by the name that the model was given.
    assert json.dumps(third).count("call_tool") >= 2
    assert "send_label" in json.dumps(third)


@pytest.mark.parametrize(
    ("model", "loads"),
    [
        ("claude-3-7-sonnet-latest", False),
        ("claude-opus-4-1-20250805", False),
        ("claude-sonnet-4-20250514", False),
        ("claude-sonnet-4-5", True),
        ("claude-haiku-4-5-20251001", True),
        ("claude-opus-5", True),
    ],
)
def test_which_claude_models_load_tools(model: str, loads: bool) -> None:
    assert traits_of(model).loads_tools is loads


@pytest.mark.parametrize(
    ("model", "loads"),
    [
        ("gpt-4.1", False),
        ("gpt-5", False),
        ("gpt-5.3-codex", False),
        ("gpt-5.4", True),
        ("gpt-5.4-nano", False),
        ("gpt-5.4-mini", True),
        ("gpt-5.10", True),
        ("gpt-6", True),
    ],
)
def test_which_gpt_models_load_tools(model: str, loads: bool) -> None:
    assert bool(_LOADS_TOOLS.match(model)) is loads
