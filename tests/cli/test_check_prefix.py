"""`toolwright check` finds what would break a provider's prompt cache."""

from collections.abc import Sequence
from itertools import count
from typing import Any

import pytest

from toolwright import Agent, Compaction, FunctionTool, ModelSettings, Tool, Toolset
from toolwright.cli._prompt_prefix import check_prefix
from toolwright.cli._tools import listed_tools
from toolwright.testing import ScriptedModel

pytestmark = pytest.mark.anyio


def ping(host: str) -> str:
    """Ping a host once, and say how long it took."""
    return host


async def found(tools: Sequence[Any], **more: Any) -> list[tuple[str, str]]:
    agent = Agent(name="agent", model=ScriptedModel(), tools=tools, **more)
    listed = await listed_tools(agent)
    findings = check_prefix(agent, listed, await listed_tools(agent))
    return [(one.tool, one.message) for one in findings]


class Changing(Toolset):
    """Lists another tool each time, or the same one with another description."""

    def __init__(self, *, names: bool = False) -> None:
        super().__init__()
        self.numbers = count(1)
        self.names = names

    async def get_tools(self, readonly_context: Any = None) -> list[Tool]:
        number = next(self.numbers)
        name = f"ping_{number}" if self.names else "ping"
        return [FunctionTool(ping, name=name, description=f"Ping a host; try {number}.")]


async def test_an_agent_that_begins_alike_each_turn_is_not_complained_of() -> None:
    assert await found([ping], compaction=Compaction(max_tokens=10_000)) == []


async def test_a_definition_that_differs_each_time() -> None:
    [(name, message)] = await found([Changing()])
    assert name == "ping"
    assert message.startswith("the description it is listed with is not the same")


async def test_tools_that_come_and_go() -> None:
    gone, new = await found([Changing(names=True)])
    assert (gone[0], new[0]) == ("ping_1", "ping_2")
    assert "not the second time" in gone[1]
    assert "only there when listed a second time" in new[1]


async def test_a_tool_that_is_shown_now_and_then() -> None:
    hidden = FunctionTool(ping, is_enabled=lambda ctx: "admin" in ctx.state)
    [(name, message)] = await found([hidden])
    assert (name, "is_enabled may show or hide it" in message) == ("ping", True)


async def test_settings_that_read_everything_anew() -> None:
    [(name, message)] = await found([ping], settings=ModelSettings(cache_prompt=False))
    assert (name, message.startswith("cache_prompt=False")) == ("agent", True)
    [(name, message)] = await found([ping], compaction=Compaction(max_tokens=10))
    assert (name, message.startswith("compaction begins at 10 tokens")) == ("agent", True)
