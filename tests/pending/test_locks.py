"""A lock has everything from outside that an agent can reach, behind whatever it stands."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
from tests.pending._outside import Server

from toolwright import (
    Agent,
    AgentTool,
    SequentialAgent,
    SkillToolset,
    Tool,
    UsageError,
    code_mode,
    rules,
)
from toolwright.agent import lock_of, moved_since
from toolwright.testing import ScriptedModel
from toolwright.tools import (
    Toolset,
    combined,
    filtered,
    guarded,
    prefixed,
    searchable,
)

pytestmark = pytest.mark.anyio


class Files(Server):
    """A server with a file, whose digest is the first word of what it says."""

    async def file_digests(self) -> dict[str, dict[str, str]]:
        return {self.source: {"main": next(iter(self.said.values()))}}


def agent(*tools: Any, name: str = "a") -> Agent:
    return Agent(name=name, description="", model=ScriptedModel(), tools=tools)


BEHIND: dict[str, Callable[[Any], Any]] = {
    "nothing": lambda thing: thing,
    "guarded": lambda thing: guarded(_set(thing), rules(otherwise="allow")),
    "code mode": lambda thing: code_mode(_set(thing)),
    "a search": lambda thing: searchable(_set(thing)),
    "a prefix": lambda thing: prefixed(_set(thing), "x"),
    "a filter": lambda thing: filtered(_set(thing), lambda tool, ctx: True),
    "others": lambda thing: combined(_set(thing)),
    "a skill": lambda thing: SkillToolset([], additional_tools=[thing]),
}


def _set(thing: Toolset | Tool) -> Any:
    return thing if isinstance(thing, Toolset) else [thing]


WITHIN: dict[str, Callable[[Server], Any]] = {
    "a toolset": lambda server: server,
    "a helper": lambda server: AgentTool(agent(server, name="helper")),
    "a helper's step": lambda server: AgentTool(
        SequentialAgent(name="steps", description="", sub_agents=[agent(server, name="step")])
    ),
}


@pytest.mark.parametrize("within", WITHIN)
@pytest.mark.parametrize("outer", BEHIND)
@pytest.mark.parametrize("inner", ["nothing", "code mode", "a search", "a skill"])
async def test_a_lock_sees_through_everything(inner: str, outer: str, within: str) -> None:
    server = Files(send="Sends.")

    async def lock() -> dict[str, Any]:
        return await lock_of(agent(BEHIND[outer](WITHIN[within](BEHIND[inner](server)))))

    before = await lock()
    assert moved_since(before, await lock()) == []
    server.said = {"send": "Sends all."}
    moved = moved_since(before, await lock())
    assert [line for line in moved if 'description: "Sends." is now "Sends all."' in line]
    assert "mcp:mail: main has changed" in moved


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("at_first", [("One.", "Two."), ("One.", "One.")])
@pytest.mark.parametrize("changes", [0, 1])
async def test_of_two_sources_of_one_name_neither_hides_the_other(
    changes: int, at_first: tuple[str, str], nested: bool
) -> None:
    servers = [Files(send=said) for said in at_first]

    async def lock() -> dict[str, Any]:
        second = AgentTool(agent(servers[1], name="helper"))
        tools = [combined(servers[0], [second])] if nested else [servers[0], second]
        return await lock_of(agent(*tools))

    before = await lock()
    assert moved_since(before, await lock()) == []
    servers[changes].said = {"send": "Evil."}
    moved = moved_since(before, await lock())
    assert any("Evil." in line or "is new" in line for line in moved)


LOCK = {
    "version": 1,
    "sources": {"mcp:mail": {"tools": {"send": {"parameters": {}}}, "files": {"main": "1"}}},
}


@pytest.mark.parametrize("wrong", [[], None, "x", 1, ["mcp:mail"]], ids=repr)
@pytest.mark.parametrize(
    "at",
    [
        ["sources"],
        ["sources", "mcp:mail"],
        ["sources", "mcp:mail", "tools"],
        ["sources", "mcp:mail", "files"],
        ["sources", "mcp:mail", "tools", "send"],
    ],
    ids=len,
)
async def test_what_is_no_lock_is_refused_and_never_taken_for_an_empty_one(
    at: list[str], wrong: Any
) -> None:
    lock = copy.deepcopy(LOCK)
    holder: Any = lock
    for name in at[:-1]:
        holder = holder[name]
    holder[at[-1]] = wrong
    with pytest.raises(UsageError, match=r"no lock.*toolwright lock"):
        moved_since(lock, await lock_of(agent(Server(send="Sends."))))


@pytest.mark.parametrize(
    "wrong",
    [{"version": 1}, {"sources": {}}, {**LOCK, "version": True}, {**LOCK, "version": 1.0},
     {**LOCK, "version": "1"}, {**LOCK, "version": 2}, [LOCK], None, "x", 1,
     {**LOCK, "sources": {"mcp:mail": {}}}, {**LOCK, "sources": {"mcp:mail": {"others": {}}}},
     {**LOCK, "sources": {"mcp:mail": {"tools": {}, "others": {}}}},
     {**LOCK, "sources": {"mcp:mail": {"files": {"main": None}}}},
     {**LOCK, "sources": {"mcp:mail": {"files": {"main": ["1"]}}}}],
    ids=str,
)  # fmt: skip
def test_what_no_lock_could_be_is_refused(wrong: Any) -> None:
    with pytest.raises(UsageError, match=r"no lock.*toolwright lock"):
        moved_since(wrong, LOCK)
    assert moved_since({**LOCK, "note": "ours"}, LOCK) == []
