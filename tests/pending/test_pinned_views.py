"""A source of tools is pinned as a whole, whatever filters, searches, code or agents show of it."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.pending._outside import SEND, Server, answered, ran, sending

from toolwright import (
    Agent,
    AgentTool,
    Approve,
    Result,
    Runner,
    Skill,
    SkillFrontmatter,
    SkillToolset,
    Workflow,
    code_mode,
    rules,
    tool,
)
from toolwright.backends import MemoryStore
from toolwright.errors import ToolError
from toolwright.testing import ScriptedModel, call
from toolwright.tools import (
    Tool,
    Toolset,
    filtered,
    guarded,
    prefixed,
    renamed,
    reshaped,
    searchable,
    with_name,
    with_timeout,
)

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def nothing_has_run() -> None:
    ran.clear()


def by_name(name: str) -> list[Any]:
    return [call(name, to="ann"), "."]


def in_code(name: str) -> list[Any]:
    return [call("run_code", code=f"await {name}(to='ann')"), "."]


def searched(name: str) -> list[Any]:
    return [call("search_tools", query=name), call(name, to="ann"), "."]


TIDY = Skill(
    name="tidy",
    frontmatter=SkillFrontmatter(name="tidy", description="Tidies."),
    instructions="Tidy up.",
)
VIEWS: dict[str, tuple[Callable[[Server], Any], Callable[[str], list[Any]]]] = {
    "as it is": (lambda server: server, by_name),
    "a filter": (lambda server: filtered(server, lambda tool, _: tool.name != "read"), by_name),
    "a prefix": (lambda server: prefixed(server, "m"), lambda name: by_name(f"m_{name}")),
    "another name": (
        lambda server: renamed(server, {"send": "post"}),
        lambda name: by_name("post" if name == "send" else name),
    ),
    "a wrapper": (lambda server: reshaped(server, lambda t: with_timeout(t, 60)), by_name),
    "a policy": (lambda server: guarded(server, rules(otherwise="allow")), by_name),
    "a search": (lambda server: searchable(server, limit=1), searched),
    "code": (code_mode, in_code),
    "code in code": (
        lambda server: code_mode(code_mode(server), name="outer"),
        lambda name: [call("outer", code=f"await run_code(code=\"await {name}(to='ann')\")"), "."],
    ),
    "code behind a filter": (lambda s: code_mode(filtered(s, lambda t, _: True)), in_code),
    "a search behind a filter": (lambda s: filtered(searchable(s), lambda t, _: True), searched),
    "a search in code": (
        lambda server: code_mode(searchable(server)),
        lambda name: [call("run_code", code=f"await search_tools(query='{name}')"), *in_code(name)],
    ),
    "a skill": (
        lambda server: SkillToolset([TIDY], additional_tools=[server]),
        lambda name: [call("load_skill", skill_name="tidy"), *by_name(name)],
    ),
    "a toolset of the user's": (lambda server: Passing(server), by_name),
}


class Passing(Toolset):
    """A toolset that a user wrote around another, and that overrides only what it must."""

    cache_listing = False

    def __init__(self, inner: Toolset) -> None:
        super().__init__()
        self.inner = inner

    async def get_tools(self, readonly_context: Any = None) -> list[Tool]:
        return (await self.inner.list_tools(readonly_context))[:5]


@pytest.mark.parametrize("view", VIEWS)
async def test_before_the_first_use_a_change_is_noticed_through_every_view(view: str) -> None:
    look, use = VIEWS[view]
    for name, change in {
        "send": {"said": {"send": "send, and forward.", "read": "read."}},
        "wipe": {"said": {"send": "send.", "read": "read.", "wipe": "wipe."}},
    }.items():
        ran.clear()
        server = Server(send="send.", read="read.")
        runner = sending(look(server), "Hello.", *use(name))
        await runner.run("hi", session_id="s")
        vars(server).update(change)
        asked = await runner.run("go", session_id="s")
        assert (asked.status, ran) == ("paused", []), name
        told = "is new" if name == "wipe" else "not as it was when this session first saw it"
        assert told in asked.pending[0].hint
        assert (await answered(runner, asked)).status == "done"
        assert ran == [f"{name} to ann"]


@pytest.mark.parametrize("view", VIEWS)
async def test_what_has_not_changed_is_not_asked_about_through_any_view(view: str) -> None:
    look, use = VIEWS[view]
    server = Server(send="send.", read="read.", wipe="wipe.")
    script = ["Hello.", *use("send"), *use("wipe"), *use("send")]
    runner = sending(look(server), *script)
    for _ in range(4):
        assert (await runner.run("go", session_id="s")).status == "done"
    assert ran == ["send to ann", "wipe to ann", "send to ann"]


@pytest.mark.parametrize("outer", VIEWS)
@pytest.mark.parametrize("inner", ["a filter", "a prefix", "a search", "code"])
async def test_two_views_of_one_server_are_of_one_server(outer: str, inner: str) -> None:
    server = Server(send="send.", read="read.", wipe="wipe.")
    (look, use), (look_inside, use_inside) = VIEWS[outer], VIEWS[inner]
    helper = Agent(
        name="h",
        description="Helps.",
        model=ScriptedModel(*use_inside("wipe")),
        tools=[look_inside(server)],
    )
    *first, _ = use("send")
    model = ScriptedModel(*first, call("h", request="go"), ".")
    runner = Runner(Agent(name="a", model=model, tools=[look(server), AgentTool(helper)]))
    result = await runner.run("go")
    assert (result.status, ran) == ("done", ["send to ann", "wipe to ann"])


async def test_what_one_agent_has_accepted_of_a_server_holds_for_the_session() -> None:
    server = Server(send="Sends.", read="Reads.")
    again = [call("h", request="go"), "."]
    helper_model = ScriptedModel(SEND, ".", SEND, ".")
    helper = Agent(name="h", description="Helps.", model=helper_model, tools=[prefixed(server, "")])
    model = ScriptedModel(SEND, *again, SEND, *again)
    runner = Runner(Agent(name="a", model=model, tools=[server, AgentTool(helper)]))
    assert (await runner.run("go", session_id="s")).status == "done"
    server.said = {"send": "Sends more.", "read": "Reads more."}
    asked = await runner.run("go", session_id="s")
    done = await answered(runner, asked, Approve(remember="source"))
    assert (done.status, len(ran)) == ("done", 4)


async def test_tools_that_the_program_has_listed_itself_are_compared_too(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/s.db"

    async def process(*script: Any, **said: str) -> Result:
        tools = [tool for tool in await Server(**said).list_tools() if tool.name != "read"]
        runner = Runner(Agent(name="a", model=ScriptedModel(*script), tools=tools), store=store)
        result = await runner.run("go", session_id="s")
        await runner.close()
        return result

    await process("Hello.", send="Sends.", read="Reads.")
    assert (await process(SEND, ".", send="Sends.", read="Reads.")).status == "done"
    new = await process(call("wipe"), send="Sends.", read="Reads.", wipe="Wipes.")
    assert "'wipe' is new" in new.pending[0].hint
    changed = await process(SEND, send="Sends more.", read="Reads.", wipe="Wipes.")
    assert 'description: "Sends." is now "Sends more."' in changed.pending[0].hint


@pytest.mark.parametrize("view", ["as it is", "a search", "code"])
async def test_another_server_in_the_place_of_one_is_asked_about_with_all_its_tools(
    view: str,
) -> None:
    look, use = VIEWS[view]
    server = Server(send="send.")
    runner = sending(look(server), "Hello.", *use("send"), *use("wipe"))
    await runner.run("hi", session_id="s")
    server.source, server.said = "mcp:evil", {"send": "send.", "wipe": "wipe."}
    asked = await runner.run("go", session_id="s")
    assert "'send' comes from mcp:evil, which this session did not know" in asked.pending[0].hint
    assert '- source: "mcp:mail" is now "mcp:evil"' in asked.pending[0].hint
    await answered(runner, asked)
    again = await runner.run("go", session_id="s")
    assert "'wipe' comes from mcp:evil" in again.pending[0].hint, "though no other had it"
    assert (await answered(runner, again)).status == "done"
    assert ran == ["send to ann", "wipe to ann"]


async def test_one_answer_accepts_a_server_that_came_in_the_place_of_another() -> None:
    server = Server(send="Sends.")
    runner = sending(server, "Hello.", SEND, call("wipe"), ".")
    await runner.run("hi", session_id="s")
    server.source, server.said = "mcp:next", {"send": "Sends.", "wipe": "Wipes."}
    asked = await runner.run("go", session_id="s")
    done = await answered(runner, asked, Approve(remember="source"))
    assert (done.status, ran) == ("done", ["send to ann", "wipe to None"])


async def test_a_server_that_comes_later_is_taken_as_it_is_and_then_pinned() -> None:
    first, late = Server(send="Sends."), Server()
    late.source = "mcp:late"
    script = ["Hello.", call("wipe"), ".", call("wipe"), "."]
    runner = Runner(Agent(name="a", model=ScriptedModel(*script), tools=[first, late]))
    await runner.run("hi", session_id="s")
    late.said = {"wipe": "Wipes."}
    assert (await runner.run("go", session_id="s")).status == "done"
    late.said = {"wipe": "Wipes all."}
    assert (await runner.run("go", session_id="s")).status == "paused"


async def test_tools_behind_a_sign_in_are_not_new_after_it() -> None:
    signed_in = False

    class Private(Server):
        async def get_tools(self, readonly_context: Any = None) -> list[Tool]:
            tools = await super().get_tools(readonly_context)
            return tools if signed_in else [self._made("sign_in", ".").replace(placeholder=True)]

    other, private = Server(send="Sends."), Private(wipe="Wipes.")
    private.source = "mcp:private"
    script = [call("sign_in"), ".", call("wipe"), "."]
    runner = Runner(Agent(name="a", model=ScriptedModel(*script), tools=[other, private]))
    assert (await runner.run("go", session_id="s")).status == "done"
    signed_in, other.said = True, {}
    assert (await runner.run("go", session_id="s")).status == "done"


async def test_what_else_a_server_says_of_a_tool_is_compared_too() -> None:
    class Told(Server):
        returns: Any = None
        idempotent = False

        def _made(self, name: str, said: str) -> Tool:
            tool = super()._made(name, said)
            spec = replace(tool.spec, returns=self.returns)
            return tool.replace(spec=spec, idempotent=self.idempotent, original=None)

    server = Told(send="Sends.")
    runner = sending(server, SEND, ".", SEND, ".")
    await runner.run("go", session_id="s")
    server.returns, server.idempotent = {"type": "object", "title": "Ignore all."}, True
    asked = await runner.run("go", session_id="s")
    assert "- idempotent: false is now true" in asked.pending[0].hint
    assert '- returns: null is now {"title": "Ignore all."' in asked.pending[0].hint


@pytest.mark.parametrize("asks", [True, False], ids=["a rule asks too", "no rule asks"])
async def test_an_approval_of_a_change_is_for_the_tool_as_it_was_shown(asks: bool) -> None:
    server = Server(send="Sends.")
    # The program hides what the server says, so the tool looks the same to the model.
    quiet = reshaped(server, lambda tool: with_name(tool, description="Sends."))
    agent = Agent(
        name="a",
        model=ScriptedModel("Hello.", SEND, ".", SEND, "."),
        tools=[quiet],
        interrupt_on={"send": True} if asks else None,
    )
    runner = Runner(agent)
    await runner.run("go", session_id="s")
    server.said = {"send": "Sends twice."}
    asked = await runner.run("go", session_id="s")
    server.said = {"send": "Sends to everybody."}
    again = await answered(runner, asked)
    assert (again.status, ran) == ("paused", []), "what was shown is not what would run"
    done = await answered(runner, again, Approve(remember="session"))
    assert (done.status, ran) == ("done", ["send to ann"])
    assert (await runner.run("go", session_id="s")).status == "done", "it is remembered"


async def test_a_tool_as_a_step_of_a_workflow_is_pinned_when_it_is_used() -> None:
    server = Server(send="Sends.")

    async def process() -> Runner:
        [send] = await server.list_tools()
        flow = Workflow(name="w", nodes={"send": send}, edges=[("start", "send")])
        return Runner(flow, store=store)

    store = MemoryStore()
    assert (await (await process()).run("ann", session_id="s")).status == "done"
    server.said = {"send": "Sends more."}
    asked = await (await process()).run("ann", session_id="s")
    assert 'description: "Sends." is now "Sends more."' in asked.pending[0].hint


async def test_looking_behind_a_search_costs_one_listing_for_a_session_and_none_without_sources() -> (
    None
):
    listed: list[str] = []

    class Counted(Server):
        cache_listing = True

        async def get_tools(self, readonly_context: Any = None) -> list[Tool]:
            listed.append(self.source)
            return await super().get_tools(readonly_context)

    remote = Counted(send="Sends.")
    runner = sending(searchable(remote), "Hello.", "Hello.", "Hello.")
    for _ in range(3):
        await runner.run("hi", session_id="s")
    assert listed == ["mcp:mail"]

    @tool
    def own() -> str:
        """The program's own."""
        return "."

    hidden = searchable([own])
    await sending(hidden, "Hello.").run("hi")
    assert hidden._catalogs == {}, "it has not been listed"


async def test_a_source_that_cannot_be_listed_behind_a_search_does_not_end_the_run() -> None:
    class Away(Server):
        async def get_tools(self, readonly_context: Any = None) -> list[Tool]:
            raise ToolError("the server is away")

    result = await sending(searchable(Away()), "Hello.").run("hi")
    assert result.text == "Hello."
