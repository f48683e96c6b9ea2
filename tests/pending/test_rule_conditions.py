"""What a rule can look at: the tool, the arguments, the path, the user, the cost and the time."""

import enum
from contextlib import suppress
from datetime import date, datetime
from decimal import Decimal
from pathlib import PurePosixPath
from typing import Annotated, Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field, HttpUrl, SecretStr

from toolwright import (
    Agent,
    AgentTool,
    Result,
    Rule,
    Runner,
    SequentialAgent,
    ToolError,
    UsageError,
    Workflow,
    code_mode,
    rules,
    searchable,
    tool,
)
from toolwright.messages import ToolEnded, Usage
from toolwright.testing import ScriptedModel, call
from toolwright.tools import Tool
from toolwright.tools._expression import Expression, Unknown

pytestmark = pytest.mark.anyio


@tool
def pay(cents: int, to: str = "", note: dict[str, Any] | None = None) -> str:
    """Pay."""
    return "paid"


PAID = pay.replace(source="mcp:bank@https://bank.example")


def results(result: Result) -> dict[str, str]:
    ended = [event.result for event in result.events if isinstance(event, ToolEnded)]
    return {r.name: r.status for r in ended}


async def verdict(rule: Rule, *, user: str = "ada", tool: Tool = PAID, **arguments: Any) -> str:
    """What the rule makes of a call of `pay` by an agent inside another one."""
    inner = Agent(
        name="clerk", description="", model=ScriptedModel(call("pay", **arguments), "."),
        tools=[tool], policy=rules(rule, otherwise="allow"),
    )  # fmt: skip
    model = ScriptedModel(call("clerk", request="go"), ".")
    runner = Runner(Agent(name="desk", model=model, tools=[AgentTool(inner)]))
    result = await runner.run("go", user_id=user)
    return "ask" if result.status == "paused" else results(result)["pay"]


@pytest.mark.parametrize(
    ("condition", "fits"),
    [
        ("cents > 1000", False),
        ("cents > 100 and cents <= 500", True),
        ("100 < cents < 600", True),
        ("to in ['ann', 'bob']", True),
        ("cents in ['500', 500]", True),
        ("cents not in ['500', 500]", False),
        ("cents in [1, None]", False),
        ("to not in ('ann', 'bob')", False),
        ("not starts(to, 'a')", False),
        ("ends(lower(to), 'n') and len(to) == 3", True),
        ("matches(to, 'a?n')", True),
        ("note['deep'][0] == -1", True),
        ("call.args['cents'] == 500 and 'to' in call.args", True),
        ("len(call.args) == 2", False),
        ("call.tool == 'pay' and call.effects == 'write'", True),
        ("starts(call.source, 'mcp:bank')", True),
        ("call.agent == 'clerk' and call.path == 'desk/clerk'", True),
        ("call.user == 'ada' and call.cost == 0", True),
        ("call.hour >= 0 and call.hour < 24", True),
        ("call.weekday in ['mon','tue','wed','thu','fri','sat','sun']", True),
    ],
)
async def test_conditions_compare_arguments_and_what_is_known_of_the_call(
    condition: str, fits: bool
) -> None:
    rule = Rule.deny("pay", when=condition)
    found = await verdict(rule, cents=500, to="ann", note={"deep": [-1]})
    assert found == ("denied" if fits else "ok")


MIXED = ["'5', 6", "6, '5'", "'5', None", "True, 6", "['5'], 6", "6, [5]", "'x', 7, None, True"]


@pytest.mark.parametrize(
    "condition",
    [
        "note == 'ann'",
        "note['deep'] == 1",
        "cents > 'much'",
        "note[0] == 1",
        "missing == 1",
        "cents == '5'",
        "cents != '5'",
        "cents in ['5', '6']",
        "cents not in ['5']",
        *(f"cents {op} [{members}]" for op in ("in", "not in") for members in MIXED),
        "cents == True",
        "not cents == '5'",
        "matches(call.args, '*')",
        "-to == 1",
        "cents[0] == 1",
        "5 in cents",
        "args['cents'] == 5",
    ],
)
async def test_what_cannot_be_compared_is_never_allowed_on_a_guess(condition: str) -> None:
    assert await verdict(Rule.deny("pay", when=condition), cents=5) == "denied"
    assert await verdict(Rule.ask("pay", when=condition), cents=5) == "ask"
    allowing = rules(Rule.allow("pay", when=condition), otherwise="deny")
    agent = Agent(
        name="a", model=ScriptedModel(call("pay", cents=5), "."), tools=[pay], policy=allowing
    )
    assert results(await agent.run("go")) == {"pay": "denied"}


class Env(enum.Enum):
    PROD = "prod"


class Place(BaseModel):
    street: str = Field(exclude=True)
    code: SecretStr = SecretStr("")


Rate = Annotated[float, Field(allow_inf_nan=True)]


def typed(
    env: Env, path: PurePosixPath, day: date, at: datetime, key: UUID, price: Decimal, rate: Rate,
    secret: SecretStr, url: HttpUrl, place: Place, tags: set[str], paths: list[PurePosixPath],
    raw: bytes, args: list[str], call: str,
) -> str:  # fmt: skip
    """Do something."""
    return "done"


TYPED: dict[str, Any] = {
    "env": "prod",
    "path": "/srv//x",
    "day": "2026-01-31",
    "at": "2026-01-31T12:00:00Z",
    "key": "12345678-1234-5678-1234-56781234ABCD",
    "price": "0.10",
    "rate": 2.5,
    "secret": "hunter2",
    "url": "https://bank.example",
    "place": {"street": "Elm", "code": "1234"},
    "tags": ["a", "b"],
    "paths": ["/etc", "/srv"],
    "raw": "text",
    "args": ["-rf", "/"],
    "call": "back",
}


async def judged(condition: str, **changed: Any) -> tuple[str, str]:
    """What becomes of a call that is denied under the condition, and of one allowed under it."""
    found = []
    for rule, otherwise in ((Rule.deny, "allow"), (Rule.allow, "deny")):
        policy = rules(rule("typed", when=condition), otherwise=otherwise)  # type: ignore[arg-type]
        made = [call("typed", **{**TYPED, **changed}), "."]
        agent = Agent(name="a", model=ScriptedModel(*made), tools=[typed], policy=policy)
        found.append(results(await agent.run("go"))["typed"])
    return found[0], found[1]


@pytest.mark.parametrize(
    "condition",
    [
        "env == 'prod'",
        "env in ['dev', 'prod'] and starts(env, 'pr') and env != 'dev'",
        "path == '/srv/x' and path in ['/srv/x'] and starts(path, '/srv/')",
        "ends(path, 'x') and matches(path, '/srv/*') and 'srv' in path and len(path) == 6",
        "day == '2026-01-31' and day > '2026-01-30' and day <= '2026-02-01'",
        "at == '2026-01-31T13:00:00+01:00' and at > '2026-01-31T12:30:00+01:00'",
        "key == '12345678-1234-5678-1234-56781234abcd'",
        "key == '12345678-1234-5678-1234-56781234ABCD'",
        "price == 0.1 and price > 0 and price < 0.11 and -price < 0",
        "rate > 2 and rate == 2.5",
        "secret == 'hunter2' and len(secret) == 7",
        "url == 'https://bank.example' and starts(url, 'https://bank.')",
        "place['street'] == 'Elm' and place['code'] == '1234' and 'street' in place",
        "'a' in tags and 'c' not in tags and len(tags) == 2",
        "'/etc' in paths and paths[0] == '/etc' and '/usr' not in paths",
        "raw == 'text'",
        "'-rf' in args and len(args) == 2 and args[1] == '/'",
        "call == 'back' and call.tool == 'typed' and call.args['call'] == 'back'",
    ],
)
async def test_conditions_see_typed_arguments_as_json_has_them(condition: str) -> None:
    assert await judged(condition) == ("denied", "ok")
    assert await judged(f"not ({condition})") == ("ok", "denied")


@pytest.mark.parametrize(
    ("condition", "changed"),
    [
        ("rate > 100", {"rate": "NaN"}),
        ("rate <= 100", {"rate": "NaN"}),
        ("rate == 1", {"rate": "NaN"}),
        ("rate != 1", {"rate": "NaN"}),
        ("rate in [1, 2]", {"rate": "NaN"}),
        ("not rate > 100", {"rate": "NaN"}),
        ("day == 'tomorrow'", {}),
        ("at > '2026-01-31T00:00:00'", {}),
        ("at == '2026-01-31T12:00:00'", {}),
        ("key == 'mine'", {}),
        ("price == '0.10'", {}),
        ("tags == ['a', 'b']", {}),
        ("paths == '/etc'", {}),
        ("matches(paths, '/etc*')", {}),
        ("place == 'Elm'", {}),
        ("env > 3", {}),
    ],
)
async def test_what_cannot_be_decided_of_a_typed_argument_is_never_an_allow(
    condition: str, changed: dict[str, Any]
) -> None:
    assert await judged(condition, **changed) == ("denied", "denied")


@pytest.mark.parametrize(
    ("condition", "near"),
    [
        ("call.weekday == 'sunday'", "sun"),
        ("call.effects in ['destuctive']", "destructive"),
        ("matches(call.effects, 'wri')", "write"),
    ],
)
def test_what_a_call_can_never_be_is_refused_when_the_rule_is_written(
    condition: str, near: str
) -> None:
    with pytest.raises(UsageError, match=f"nothing that call.*near names: .*{near}"):
        rules(Rule.deny(when=condition))


@pytest.mark.parametrize(
    "condition",
    [
        "__import__('os').system('true')",
        "().__class__",
        "call.__class__",
        "call.run",
        "[x for x in to]",
        "lambda: 1",
        "to.upper() == 'X'",
        "f'{to}'",
        "cents ** cents",
        "to * 10 == ''",
        "cents if to else 1",
        "(x := 5) == 5",
        "to[cents]",
        "len(to, 1)",
        "len(*to)",
        "b'x' == to",
        "cents is None",
        "cents >",
        "",
        "1; 2",
        "x" * 20_000 + " ==",
    ],
)
def test_what_is_no_comparison_is_refused_when_the_rule_is_written(condition: str) -> None:
    with pytest.raises(UsageError):
        rules(Rule.deny(when=condition))


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="()[]{}'\"\\ .,=<>-_ainotcdlerx0159", max_size=40), st.integers())
def test_any_text_is_refused_or_compares(text: str, value: int) -> None:
    try:
        condition = Expression(text)
    except UsageError:
        return
    with suppress(Unknown):
        assert condition({"a": value, "x": "text"}, {}) in (True, False)


async def test_rules_look_at_source_user_and_agents_on_the_path() -> None:
    fitting = [
        Rule.deny("pay", source="mcp:*"),
        Rule.deny("pay", user="a*"),
        Rule.deny("pay", agent="desk"),
        Rule.deny(agent="clerk", user="ada", source="mcp:bank@*"),
    ]
    others = [
        Rule.deny("pay", source="openapi:*", optional=True),
        Rule.deny("pay", user="eve"),
        Rule.deny("pay", agent="boss", optional=True),
        Rule.deny("pay", agent="desk", user="eve"),
    ]
    assert [await verdict(rule, cents=1) for rule in fitting] == ["denied"] * 4
    assert [await verdict(rule, cents=1) for rule in others] == ["ok"] * 4


async def test_a_rule_can_look_at_what_the_session_has_cost_so_far() -> None:
    def costly(request: Any) -> Any:
        return call("pay", cents=1)

    class Priced(ScriptedModel):
        async def respond(self, request: Any, on_delta: Any = None) -> Any:
            from dataclasses import replace

            reply = await super().respond(request, on_delta)
            return replace(reply, usage=Usage(cost=0.75))

    policy = rules(Rule.ask("pay", when="call.cost > 1", reason="Dear."), otherwise="allow")
    model = Priced(costly, ".", costly, ".")
    runner = Runner(Agent(name="a", model=model, tools=[pay], policy=policy))
    assert (await runner.run("go", session_id="s")).status == "done"
    asked = await runner.run("go", session_id="s")
    assert (asked.status, asked.pending[0].hint) == ("paused", "Dear.")


def test_a_rule_reads_as_it_was_written() -> None:
    rule = Rule.ask("pay", "buy", effects="write", source="mcp:*", when="cents > 1")
    assert str(rule) == "Rule.ask('pay', 'buy', effects='write', source='mcp:*', when='cents > 1')"
    assert str(Rule.deny(when=bool)) == "Rule.deny(when=…)"


async def test_explain_says_which_rule_decides_and_runs_nothing() -> None:
    inner = rules(Rule.ask("pay", when="cents > 10", reason="Much."), otherwise="allow")
    agent = Agent(name="a", model=ScriptedModel(), tools=[pay], policy=inner)
    runner = Runner(agent, policy=rules(Rule.deny("pay", user="eve"), otherwise="allow"))
    asked = await runner.explain("pay", {"cents": 50})
    assert (asked.verdict, asked.decided and asked.decided.reason) == ("ask", "Much.")
    assert [decision.rule for decision in asked.decisions] == [
        "otherwise='allow' in the policy of the runner",
        "Rule.ask('pay', when='cents > 10') in the policy of agent 'a'",
    ]
    assert (await runner.explain("pay", {"cents": 50}, user_id="eve")).verdict == "deny"
    assert (await runner.explain("pay", {"cents": 5})).verdict == "allow"
    assert await runner.sessions() == []


async def test_explain_follows_the_way_to_another_agents_call() -> None:
    careful = rules(Rule.ask("pay", reason="Ask Ada."), otherwise="allow")

    def helper() -> Agent:
        return Agent(name="helper", model=ScriptedModel(), tools=[pay], policy=careful)

    top = rules(Rule.deny("pay", when="cents > 99"), otherwise="allow")
    tops = {
        "transfer": Agent(name="top", model=ScriptedModel(), sub_agents=[helper()], policy=top),
        "tool": Agent(name="top", model=ScriptedModel(), tools=[AgentTool(helper())], policy=top),
    }
    for root in tops.values():
        runner = Runner(root)
        asked = await runner.explain("helper/pay", {"cents": 5})
        assert (asked.verdict, asked.decided and asked.decided.reason) == ("ask", "Ask Ada.")
        assert (await runner.explain("helper/pay", {"cents": 500})).verdict == "deny"
        with pytest.raises(ToolError, match="write the agents on the way, 'helper/pay'"):
            await runner.explain("pay", {"cents": 5})
        with pytest.raises(ToolError, match="no agent 'helpr' below it; there are: helper"):
            await runner.explain("helpr/pay", {"cents": 5})


@pytest.mark.parametrize(
    "behind", [code_mode, searchable, lambda tools: code_mode(searchable(tools))]
)
async def test_explain_knows_tools_behind_others(behind: Any) -> None:
    def rm(path: str) -> str:
        """Remove a file."""
        return "gone"

    agent = Agent(
        name="a",
        model=ScriptedModel(),
        tools=[behind([rm])],
        policy=rules(Rule.deny("rm"), otherwise="allow"),
    )
    assert (await Runner(agent).explain("rm", {"path": "x"})).verdict == "deny"
    with pytest.raises(ToolError, match="There is no tool 'rn'"):
        await Runner(agent).explain("rn", {})


async def test_explain_looks_into_workflows() -> None:
    careful = rules(Rule.ask("pay"), otherwise="allow")
    helper = Agent(name="helper", model=ScriptedModel(), tools=[pay], policy=careful)
    steps = SequentialAgent(name="steps", sub_agents=[helper])
    assert (await Runner(steps).explain("helper/pay", {"cents": 5})).verdict == "ask"
    graph = Workflow(name="graph", nodes={"pay": pay}, edges=[("start", "pay")])
    runner = Runner(graph, policy=rules(Rule.deny("pay"), otherwise="allow"))
    assert (await runner.explain("pay", {"cents": 5})).verdict == "deny"


@pytest.mark.parametrize(
    ("condition", "fits"), [("'true' in marks", True), ("'True' in marks", False)]
)
async def test_keys_that_are_yes_or_no_are_as_json_has_them(condition: str, fits: bool) -> None:
    @tool
    def mark(marks: dict[bool, int]) -> str:
        """Mark."""
        return "marked"

    policy = rules(Rule.ask("mark", when=condition), otherwise="allow")
    model = ScriptedModel(call("mark", marks={"true": 1}), ".")
    done = await Agent(name="a", model=model, tools=[mark], policy=policy).run("go")
    assert [p.arguments for p in done.pending] == ([{"marks": {"true": 1}}] if fits else [])
