"""A tool in another framework: judged as in an agent of ours, and a yes goes to who asked."""

import json
from typing import Any

import pytest

from toolwright import reviewed_by
from toolwright.messages import ModelMessage, TextPart
from toolwright.sources.frameworks._alone import LoneRun, run_alone
from toolwright.tools import (
    Args,
    Decision,
    FunctionTool,
    Output,
    Tool,
    ToolConfirmation,
    ToolContext,
    with_approval,
)

pytestmark = pytest.mark.anyio
paid: list[int] = []
YES = ToolConfirmation()


@pytest.fixture(autouse=True)
def nothing_paid() -> None:
    paid.clear()


def pay(cents: int) -> str:
    """Pay."""
    paid.append(cents)
    return "paid"


def pay_after_asking(cents: int, tool_context: ToolContext) -> str:
    """Pay."""
    if tool_context.tool_confirmation is None:
        tool_context.request_confirmation(hint="To a NEW account?")
        return ""
    return pay(cents)


async def call(tool: Tool, confirmation: ToolConfirmation | None = None, *answers: str) -> Output:
    run = LoneRun(framework="elsewhere")
    arguments = json.dumps({"cents": 5})
    return await run_alone(tool, arguments, run, confirmation=confirmation, answers=answers)


def asked(output: Output) -> tuple[str, str]:
    """Who asks, and what."""
    assert output.status == "pending"
    assert output.request is not None
    return output.request.question, output.request.hint


def asks_with_the_context(cents: int, tool_context: ToolContext) -> bool:
    tool_context.request_confirmation(hint="sure?")
    return False


@pytest.mark.parametrize("confirmation", [None, YES], ids=["unanswered", "answered"])
async def test_a_predicate_that_asks_with_the_context_runs_nothing(
    confirmation: ToolConfirmation | None,
) -> None:
    tool = FunctionTool(pay, require_confirmation=asks_with_the_context)
    output = await call(tool, confirmation)
    assert (output.status, paid) == ("error", [])
    assert "asks with a verdict" in output.text


async def test_a_policy_gets_copies_of_the_arguments() -> None:
    async def change(tool: Tool, args: Args, ctx: ToolContext) -> Decision:
        args["cents"] = ctx.arguments["cents"] = 99_999
        return Decision(verdict="allow")

    await call(with_approval(FunctionTool(pay), change))
    assert paid == [5]


async def test_a_yes_to_the_rule_is_none_to_the_functions_own_question() -> None:
    tool = FunctionTool(pay_after_asking, require_confirmation=True)
    assert asked(await call(tool))[0] == "rule"
    own = await call(tool, YES, "rule")
    assert asked(own) == ("rule function", "To a NEW account?")
    assert paid == []
    assert (await call(tool, YES, "rule", "function")).text == "paid"


async def test_where_nobody_says_what_a_yes_answers_a_second_question_is_refused() -> None:
    output = await call(FunctionTool(pay_after_asking, require_confirmation=True), YES)
    assert (output.status, paid) == ("error", [])
    assert "elsewhere does not say which of the two a yes answers" in output.text


async def test_a_yes_to_the_function_is_none_to_a_rule_that_asks_by_now() -> None:
    tool = FunctionTool(pay_after_asking, require_confirmation=True)
    assert asked(await call(tool, YES, "function"))[0] == "rule"
    assert paid == []


async def test_a_yes_answers_the_only_one_who_asks() -> None:
    assert asked(await call(FunctionTool(pay_after_asking)))[0] == "function"
    assert (await call(FunctionTool(pay_after_asking), YES)).text == "paid"
    assert (await call(FunctionTool(pay, require_confirmation=True), YES)).text == "paid"


class Reviewer:
    """A model that wants a person to be asked."""

    name = "reviewer"

    async def respond(self, request: Any, on_delta: Any = None) -> ModelMessage:
        said = '{"verdict": "ask", "reason": "unusual"}'
        return ModelMessage(parts=(TextPart(said),), model="reviewer")


async def test_a_reviewer_is_asked_as_in_an_agent() -> None:
    tool = with_approval(FunctionTool(pay), reviewed_by(Reviewer()))
    output = await call(tool)
    assert asked(output)[0] == "rule"
    assert "unusual" in asked(output)[1]
    assert paid == []
    assert (await call(tool, YES, "rule")).text == "paid"
