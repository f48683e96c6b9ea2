"""Toolsets behind a search."""

from typing import Any

import pytest
from inline_snapshot import snapshot

from toolwright.agent import Agent, Runner
from toolwright.errors import UsageError
from toolwright.messages import ModelMessage, ToolMessage, ToolResult
from toolwright.testing import ScriptedModel, call
from toolwright.tools import FunctionTool, ReadonlyContext, Tool, Toolset, prefixed, searchable
from toolwright.tools._ranking import Ranking

pytestmark = pytest.mark.anyio


def make(name: str, description: str, *tags: str, enabled: bool = True) -> Tool:
    def answer() -> str:
        return f"{name} ran"

    return FunctionTool(
        answer, name=name, description=description, tags=tags, is_enabled=lambda ctx: enabled
    )


REPOSITORY = make("create_repository", "Create a new repository for a user.", "repos")
DELETING = make("delete_repo", "Deletes repositories that are no longer needed.", "repos", "admin")
ISSUE = make("listIssues", "List what people have reported.", "issues")
WEATHER = make("weather", "Forecast for a city.")
TOOLS = [REPOSITORY, DELETING, ISSUE, WEATHER]


def shown(model: ScriptedModel) -> list[list[str]]:
    """The tools the model was told of, turn by turn; after a `|` those that searches have found."""
    return [
        [spec.name for spec in request.tools] + ["|", *(spec.name for spec in request.found)]
        for request in model.requests
    ]


def results(history: object) -> list[ToolResult]:
    return [r for m in history if isinstance(m, ToolMessage) for r in m.results]  # type: ignore[attr-defined]


async def test_found_tools_can_be_called_and_leave_the_others_as_they_were() -> None:
    model = ScriptedModel(
        call("search_tools", query="weather forecast"),
        call("search_tools", query="remove a repository", tags=["ADMIN"]),
        [call("delete_repo"), call("weather")],
        "done",
    )
    result = await Agent(name="a", model=model, tools=[searchable(TOOLS)]).run("go")
    assert shown(model) == [
        ["search_tools", "call_tool", "|"],
        ["search_tools", "call_tool", "|", "weather"],
        ["search_tools", "call_tool", "|", "weather", "delete_repo"],
        ["search_tools", "call_tool", "|", "weather", "delete_repo"],
    ]
    first, _, *called = results(result.history)
    assert first.text == snapshot("""\
You can call these tools from now on:

weather: Forecast for a city.
Arguments (JSON Schema): {"additionalProperties": false, "properties": {}, "type": "object"}\
""")
    assert first.data == {"found": ["weather"]}
    assert [r.text for r in called] == ["delete_repo ran", "weather ran"]


async def test_a_tool_that_was_not_found_cannot_be_called() -> None:
    model = ScriptedModel(call("weather"), "done")
    result = await Agent(name="a", model=model, tools=[searchable(TOOLS)]).run("go")
    assert results(result.history)[0].status == "error"


async def test_what_was_found_is_known_in_the_sessions_next_run() -> None:
    model = ScriptedModel(call("search_tools", query="city"), "done", "hello again")
    runner = Runner(Agent(name="a", model=model, tools=[searchable(TOOLS)]))
    await runner.run("go", session_id="s1")
    await runner.run("again", session_id="s1")
    assert shown(model)[-1] == ["search_tools", "call_tool", "|", "weather"]


async def test_tools_named_as_always_there_need_no_search() -> None:
    model = ScriptedModel("done")
    await Agent(name="a", model=model, tools=[searchable(TOOLS, always=["weather"])]).run("go")
    assert shown(model) == [["search_tools", "weather", "call_tool", "|"]]


@pytest.mark.parametrize(
    "arguments",
    [
        {"name": "add", "arguments": {"one": 1, "two": 2}},
        {"name": "add", "arguments": '{"one": 1, "two": 2}'},
        {"name": "add", "one": 1, "two": 2},
    ],
)
async def test_what_was_found_is_called_by_its_name_with_its_arguments(arguments: Any) -> None:
    def add(one: int, two: int) -> int:
        return one + two

    adding = FunctionTool(add, description="Add two numbers.")
    model = ScriptedModel(
        call("search_tools", query="numbers"), call("call_tool", **arguments), "done"
    )
    result = await Agent(name="a", model=model, tools=[searchable([adding])]).run("go")
    added = results(result.history)[1]
    assert (added.name, added.called_as, added.text) == ("add", "call_tool", "3")
    [asked] = [c for m in result.history if isinstance(m, ModelMessage) for c in m.calls][1:]
    assert (asked.name, asked.called_as) == ("add", "call_tool")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"name": "weather"}, "There is no tool 'weather'."),
        ({}, "name"),
        ({"name": "call_tool", "arguments": {"name": "x", "arguments": {}}}, "the tool itself"),
    ],
)
async def test_a_call_that_leads_nowhere_is_answered_like_any(arguments: Any, told: str) -> None:
    model = ScriptedModel(call("call_tool", **arguments), "done")
    result = await Agent(name="a", model=model, tools=[searchable(TOOLS)]).run("go")
    [answer] = results(result.history)
    assert answer.status == "error"
    assert told in answer.text


async def test_a_tool_of_ones_own_cannot_have_the_name_of_the_one_that_calls() -> None:
    own = make("call_tool", "Ring somebody up.")
    agent = Agent(name="a", model=ScriptedModel("done"), tools=[own, searchable(TOOLS)])
    with pytest.raises(UsageError, match="calls what a search for tools has found"):
        await agent.run("go")


async def test_a_prefix_is_part_of_the_names_that_were_found() -> None:
    model = ScriptedModel(call("my_search_tools", query="city"), call("my_weather"), "done")
    tools = [prefixed(searchable(TOOLS), "my")]
    result = await Agent(name="a", model=model, tools=tools).run("go")
    assert shown(model)[-1] == ["my_search_tools", "call_tool", "|", "my_weather"]
    assert [one.status for one in results(result.history)] == ["ok", "ok"]


async def test_what_nobody_has_told_the_model_of_is_told_at_the_beginning() -> None:
    model = ScriptedModel(call("search_tools", query="city"), "done", "again")
    agent = Agent(name="a", model=model, tools=[searchable(TOOLS)])
    result = await agent.run("go")
    await agent.run("go", state=result.state)
    assert shown(model)[-1] == ["search_tools", "call_tool", "weather", "|"]


async def test_nothing_found_names_the_tags_there_are() -> None:
    model = ScriptedModel(call("search_tools", query="submarine"), "done")
    result = await Agent(name="a", model=model, tools=[searchable(TOOLS)]).run("go")
    assert results(result.history)[0].text == snapshot(
        "No tool fits 'submarine'; try other words. Known tags: repos, admin, issues."
    )


async def test_an_empty_query_lists_what_has_the_tags() -> None:
    model = ScriptedModel(call("search_tools", query="", tags=["repos"]), "done")
    result = await Agent(name="a", model=model, tools=[searchable(TOOLS, limit=1)]).run("go")
    assert results(result.history)[0].text == snapshot("""\
You can call these tools from now on:

create_repository: Create a new repository for a user.
Arguments (JSON Schema): {"additionalProperties": false, "properties": {}, "type": "object"}

(1 more fit; use other words to narrow the search.)\
""")


async def test_disabled_tools_are_not_found() -> None:
    off = make("weather", "Forecast for a city.", enabled=False)
    model = ScriptedModel(call("search_tools", query="weather"), "done")
    result = await Agent(name="a", model=model, tools=[searchable([off])]).run("go")
    assert results(result.history)[0].data == {"found": []}


def test_a_search_that_could_find_nothing_is_refused() -> None:
    with pytest.raises(UsageError, match="limit=0"):
        searchable(TOOLS, limit=0)


class Counting(Toolset):
    """Lists many tools, and counts how often it is asked."""

    def __init__(self, count: int) -> None:
        super().__init__()
        words = ["invoice", "customer", "refund", "report", "payment", "shipment", "label", "user"]
        self.asked = 0
        template = make("x", "x")
        self.tools: list[Tool] = []
        for n in range(count):
            verb, noun = ("create", "delete", "list", "get")[n % 4], words[n // 4 % len(words)]
            spec = type(template.spec)(
                name=f"{verb}_{noun}_{n}",
                description=f"{verb.title()} the {noun} number {n} of an account in the ledger.",
            )
            self.tools.append(template.replace(spec=spec))

    async def get_tools(self, readonly_context: ReadonlyContext | None = None) -> list[Tool]:
        self.asked += 1
        return self.tools


async def test_ten_thousand_tools_are_searched_and_listed_once_per_run() -> None:
    toolset = Counting(10_000)
    calls = [call("search_tools", query="number of refunding") for _ in range(20)]
    model = ScriptedModel(*calls, "done")
    result = await Agent(name="a", model=model, tools=[searchable(toolset)]).run("go")
    assert all("refund" in name for name in results(result.history)[0].data["found"])
    assert toolset.asked == 1
    assert shown(model)[0] == ["search_tools", "call_tool", "|"]


def test_words_are_matched_by_stem_and_titles_count_more() -> None:
    ranking = Ranking(
        [
            ("archive", "Puts away old repositories."),
            ("createRepository", "Makes one."),
            ("running", "Nothing here."),
        ]
    )
    assert ranking.search("repository") == [1, 0]
    assert ranking.search("RUNS") == [2]
    assert ranking.search("the of and") == []
    assert ranking.search("pository") == []
    assert Ranking([]).search("anything") == []
