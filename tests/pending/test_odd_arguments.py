"""Whatever one call of a turn has for arguments, every other call of it is judged and asked about."""

from collections.abc import Callable
from typing import Any

import pytest

from toolwright import (
    Agent,
    AgentTool,
    Approve,
    FunctionTool,
    Hooks,
    Rule,
    Runner,
    SequentialAgent,
    Tool,
    rules,
)
from toolwright.messages import ModelMessage, ToolCall, ToolEnded, ToolSpec
from toolwright.testing import ScriptedModel, call
from toolwright.tools import Args, Output, ToolContext, schema_parser, with_confirmation

pytestmark = pytest.mark.anyio

ran: list[int] = []


@pytest.fixture(autouse=True)
def nothing_has_run() -> None:
    ran.clear()


def pay(cents: int) -> str:
    """Pay what they ask for."""
    ran.append(cents)
    return "paid"


def asking(**settings: Any) -> FunctionTool[..., Any]:
    return FunctionTool(pay, require_confirmation=True, **settings)


def from_outside() -> Tool:
    parameters = {
        "type": "object",
        "properties": {"cents": {"type": "integer"}},
        "required": ["cents"],
        "additionalProperties": False,
    }

    async def run(args: Args, ctx: ToolContext) -> Output:
        return Output(text=pay(args["cents"]))

    spec = ToolSpec(name="pay", description="Pay.", parameters=parameters)
    made = Tool(spec=spec, parse=schema_parser("pay", parameters), run=run, source="mcp:bank")
    return with_confirmation(made, True)


def agent(model: ScriptedModel, *tools: Any, **settings: Any) -> Agent:
    return Agent(name="a", description="a", model=model, tools=tools or [asking()], **settings)


async def watch(ctx: ToolContext, tool: Tool, args: Args) -> None: ...


WAYS: dict[str, Callable[[ScriptedModel], Runner]] = {
    "the tool": lambda model: Runner(agent(model)),
    "one after the other": lambda model: Runner(agent(model, asking(sequential=True))),
    "started early": lambda model: Runner(agent(model, asking(effects="read"), start_early=True)),
    "from outside": lambda model: Runner(agent(model, from_outside())),
    "a condition": lambda model: Runner(
        agent(
            model, pay, policy=rules(Rule.allow("pay", when="cents < 0"), Rule.ask("pay"))
        )
    ),
    "a function": lambda model: Runner(
        agent(model, pay, interrupt_on={"pay": lambda cents: cents > 0})
    ),
    "the runner": lambda model: Runner(agent(model, pay), policy=rules()),
    "a hook": lambda model: Runner(agent(model, hooks=Hooks(before_tool=watch))),
    "a helper": lambda model: Runner(
        Agent(name="b", model=ScriptedModel(call("a", request="go"), "."), tools=[AgentTool(agent(model))])
    ),
    "a step": lambda model: Runner(SequentialAgent(name="w", sub_agents=[agent(model)])),
}  # fmt: skip
ODD = [
    "", " ", "nonsense", "{", '{"cents": 1', '{"cents": 1}{"cents": 2}', "null", "[]", '"x"',
    '[{"cents": 1}]', "{'cents': 1}", '{"cents": 1,}', '{"cents": "a"}', '{"cents": NaN}',
    '{"cents": 1e999}', '{"cents": ' + "9" * 5_000 + "}", '{"x": 1}', "\x00", "\ud800",
    '```json\n{"cents": 1}\n```', '{"cents": ' + "[" * 5_000,
]  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
async def test_every_call_beside_one_with_odd_arguments_is_asked_about(
    way: str, caplog: pytest.LogCaptureFixture
) -> None:
    calls = [
        ToolCall(call_id=f"odd-{number}", name="pay", arguments=arguments)
        for number, arguments in enumerate(ODD)
    ]
    fine = [ToolCall(call_id=f"{n}", name="pay", arguments=f'{{"cents": {n}}}') for n in (1, 2, 3)]
    turn = ModelMessage(parts=(calls[0], fine[0], *calls[1:], *fine[1:]), finish_reason="calls")
    runner = WAYS[way](ScriptedModel(turn, "."))
    asked = await runner.run("go", session_id="s")
    assert sorted(pending.arguments["cents"] for pending in asked.pending) == [1, 2, 3]
    for yes, pending in enumerate(sorted(asked.pending, key=lambda p: p.arguments["cents"])):
        assert ran == list(range(1, yes + 1)), "only what was approved"
        await runner.answer("s", pending.call_id, Approve())
        asked = await runner.resume("s")
    assert (asked.status, ran) == ("done", [1, 2, 3])
    results = [event.result for event in await runner.events("s") if isinstance(event, ToolEnded)]
    refused = [result for result in results if result.call_id.startswith("odd-")]
    assert {result.status for result in refused} == {"error"}
    assert len(refused) == len(ODD)
    assert "raised" not in caplog.text, "what a model writes is no failure of ours"


@pytest.mark.parametrize("made", [asking, from_outside])
async def test_arguments_that_are_nested_too_deep_are_told_like_others_that_do_not_fit(
    made: Callable[[], Tool],
) -> None:
    deep = ToolCall(call_id="deep", name="pay", arguments='{"cents": ' + "[" * 5_000)
    ending = agent(ScriptedModel([deep], "."), made(), on_tool_error="raise")
    runner = Runner(ending)
    assert (await runner.run("go", session_id="s")).status == "done", "the run goes on"
    [result] = [e.result for e in await runner.events("s") if isinstance(e, ToolEnded)]
    assert "this is not JSON (it is nested too deeply)" in result.text
