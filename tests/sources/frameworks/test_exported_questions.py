"""A tool in another framework: judged as in an agent of ours, and a yes goes to who asked."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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
    digest_of,
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


async def call(
    tool: Tool,
    confirmation: ToolConfirmation | None = None,
    *answers: str,
    cents: int = 5,
    asked_about: int = 5,
    shown: int | None = None,
) -> Output:
    about = digest_of({"cents": asked_about})
    return await run_alone(
        tool,
        json.dumps({"cents": cents}),
        LoneRun(framework="elsewhere"),
        confirmation=confirmation,
        answers=[f"{who}:{about}" for who in answers],
        shown=None if shown is None else json.dumps({"cents": shown}),
    )


def asked(output: Output, cents: int = 5) -> tuple[str, str]:
    """Who asks, and what, about a call with so many cents."""
    assert output.status == "pending"
    assert output.request is not None
    answers = [each.split(":") for each in output.request.question.split()]
    assert {about for _, about in answers} == {digest_of({"cents": cents})}
    return " ".join(who for who, _ in answers), output.request.hint


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


def asks_above_ten(cents: int) -> bool:
    return cents > 10


BOTH = FunctionTool(pay_after_asking, require_confirmation=True)
ABOVE_TEN = FunctionTool(pay_after_asking, require_confirmation=asks_above_ten)


@pytest.mark.parametrize(
    ("tool", "answers", "shown", "changed"),
    [
        pytest.param(BOTH, ["rule"], 99, 1, id="at the rule's question"),
        pytest.param(BOTH, ["rule", "function"], 99, 1, id="at the function's"),
        pytest.param(ABOVE_TEN, ["rule"], 99, 1, id="to what no rule asks about"),
        pytest.param(ABOVE_TEN, ["function"], 1, 99, id="to what a rule asks about"),
        pytest.param(ABOVE_TEN, [], 99, 1, id="nobody says what the yes answers"),
        pytest.param(ABOVE_TEN, [], 1, 99, id="and the rule asks by now"),
    ],
)
async def test_changed_arguments_about_which_there_is_one_more_question_are_refused_in_words(
    tool: Tool, answers: list[str], shown: int, changed: int
) -> None:
    output = await call(tool, YES, *answers, asked_about=shown, shown=shown, cents=changed)
    assert (output.status, paid) == ("error", [])
    assert f'with other arguments than were shown, {{"cents": {changed}}}' in output.text
    assert "Call it anew" in output.text


@pytest.mark.parametrize(
    ("tool", "answers"),
    [
        pytest.param(FunctionTool(pay, require_confirmation=True), ["rule"], id="rule"),
        pytest.param(FunctionTool(pay, require_confirmation=True), [], id="rule, not said"),
        pytest.param(FunctionTool(pay_after_asking), ["function"], id="function"),
        pytest.param(FunctionTool(pay_after_asking), [], id="function, not said"),
        pytest.param(ABOVE_TEN, ["function"], id="function, beside a rule that never asks"),
    ],
)
async def test_a_yes_that_changes_the_arguments_answers_the_only_question_about_them(
    tool: Tool, answers: list[str]
) -> None:
    await call(tool, YES, *answers, asked_about=9, shown=9, cents=1)
    assert paid == [1]


async def test_an_earlier_yes_to_other_arguments_is_none_to_these() -> None:
    about = [f"rule:{digest_of({'cents': 1})}", f"function:{digest_of({'cents': 99})}"]
    run = LoneRun(framework="elsewhere")
    output = await run_alone(BOTH, '{"cents": 99}', run, confirmation=YES, answers=about)
    assert asked(output, 99)[0] == "rule"
    assert paid == []


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from([BOTH, ABOVE_TEN, FunctionTool(pay_after_asking)]),
    st.sampled_from([1, 50]),
    st.lists(st.tuples(st.sampled_from([None, 1, 2, 50, 60]), st.booleans()), max_size=5),
)
async def test_no_sequence_of_answers_runs_other_arguments_than_the_last_yes_was_given_to(
    tool: Tool, cents: int, answers: list[tuple[int | None, bool]]
) -> None:
    """The framework shows the model's arguments with each question, and forgets a change."""
    paid.clear()
    output = await run_alone(tool, json.dumps({"cents": cents}), LoneRun(framework="elsewhere"))
    approved = cents
    for changed, tells in answers:
        if output.request is None:
            break
        assert asked(output, cents)
        approved = cents if changed is None else changed
        output = await run_alone(
            tool,
            json.dumps({"cents": approved}),
            LoneRun(framework="elsewhere"),
            confirmation=YES,
            answers=output.request.question.split() if tells else (),
            shown=json.dumps({"cents": cents}),
        )
    assert paid in ([], [approved])


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
