"""What a run takes for a secret leaves a mark on a card that nobody can overlook, and hides no part."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolwright import (
    Agent,
    Approve,
    Hooks,
    Pending,
    Result,
    Rule,
    Runner,
    Tool,
    ToolContext,
    UsageError,
    reviewed_by,
    rules,
    tool,
)
from toolwright.backends import MemoryStore
from toolwright.messages import REDACTED, Redactor
from toolwright.testing import ScriptedModel, call
from toolwright.tools import Args, Exact, says, with_confirmation

pytestmark = pytest.mark.anyio

MALLORY, BOB = "mallory@evil.example", "bob@corp.example"
PAYMENT = {MALLORY: 99_999_900, MALLORY.encode().hex(): 2, BOB: 1}
MARKED = {REDACTED: 99_999_900, f"{REDACTED} (2)": 2, f"{REDACTED} (3)": 1}
NOT_SHOWN = f"Not shown in full: cents.{REDACTED}, cents.{REDACTED} (2), cents.{REDACTED} (3)."
ran: list[Any] = []


@pytest.fixture(autouse=True)
def nothing_has_run() -> None:
    ran.clear()


@tool
def sign_in(tool_context: ToolContext) -> str:
    """Get tokens of a service, which has chosen them."""
    for token in (MALLORY, BOB):
        tool_context.run.redactor.add(token)
    return "signed in"


@tool
def pay(cents: dict[str, int], memo: str = "") -> str:
    """Pay cents to each of these."""
    ran.append((dict(cents), memo))
    return "paid"


ASKED = (with_confirmation(pay, True),)


def clerk(*more: Any, tools: Any = ASKED, **settings: Any) -> Agent:
    script = [call("sign_in"), *(more or [call("pay", cents=PAYMENT)]), "done"]
    return Agent(name="clerk", model=ScriptedModel(*script), tools=[sign_in, *tools], **settings)


async def asked(runner: Runner) -> Pending:
    [pending] = (await runner.run("go", session_id="s")).pending
    return pending


async def answered(runner: Runner, pending: Pending, answer: Any) -> Result:
    await runner.answer("s", pending.call_id, answer)
    return await runner.resume("s")


JSON = st.recursive(
    st.none() | st.integers() | st.text("ab[redct] ()2", max_size=12),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["aaaa", "bbbb", REDACTED, f"{REDACTED} (2)", "aaaa!", "x"])
            | st.text("ab", max_size=9),
            inner,
            max_size=6,
        )
    ),
    max_leaves=12,
)


def sizes(value: Any) -> Any:
    """How many parts there are at each level."""
    if isinstance(value, dict):
        return [sizes(part) for part in value.values()]
    return [sizes(part) for part in value] if isinstance(value, list) else 0


@settings(max_examples=200, deadline=None)
@given(value=JSON)
def test_no_part_is_lost_and_every_part_with_a_secret_is_named_without_it(value: Any) -> None:
    redactor = Redactor(["aaaa", "bbbb"])
    shown, places = redactor.inside(value), list(redactor.places(value))
    assert sizes(shown) == sizes(value)
    assert bool(places) is (json.dumps(shown) != json.dumps(value))
    assert not any(secret in json.dumps([shown, places]) for secret in ("aaaa", "bbbb"))


def test_a_key_that_is_no_secret_stays_as_it_is_beside_one_that_would_look_like_it() -> None:
    redactor = Redactor(["aaaa"])
    assert redactor.inside({"aaaa": 1, REDACTED: 2}) == {f"{REDACTED} (2)": 1, REDACTED: 2}


def test_many_keys_with_one_secret_are_numbered_in_one_go() -> None:
    redactor = Redactor(["aaaa", "bbbb"])
    keys = [f"{'aaaa' if n % 2 else 'bbbb'}" * (n + 1) for n in range(200)]
    assert len(redactor.inside(dict.fromkeys(keys, 0))) == 200


async def test_the_question_shows_every_part_names_the_hidden_ones_and_is_not_remembered() -> None:
    runner = Runner(clerk())
    pending = await asked(runner)
    assert pending.arguments == {"cents": MARKED, "memo": ""}
    assert pending.hint.endswith(NOT_SHOWN)
    with pytest.raises(UsageError, match="not shown in full, so that they cannot be remembered"):
        await answered(runner, pending, Approve(remember="arguments"))
    assert (await answered(runner, pending, Approve())).status == "done"
    assert ran == [(PAYMENT, "")]


async def test_what_was_remembered_in_full_view_does_not_cover_what_is_hidden_now() -> None:
    script = [call("pay", cents=PAYMENT), call("sign_in"), call("pay", cents=PAYMENT), "done"]
    tools = [sign_in, with_confirmation(pay, True)]
    runner = Runner(Agent(name="clerk", model=ScriptedModel(*script), tools=tools))
    again = await answered(runner, await asked(runner), Approve(remember="arguments"))
    assert again.pending[0].hint.endswith(NOT_SHOWN)
    assert ran == [(PAYMENT, "")]


async def test_an_approval_holds_in_a_process_that_does_not_know_the_secret_any_more() -> None:
    store = MemoryStore()
    pending = await asked(Runner(clerk(), store=store))
    later = Runner(
        Agent(name="clerk", model=ScriptedModel("done"), tools=clerk().tools), store=store
    )
    assert (await answered(later, pending, Approve())).status == "done"
    assert ran == [(PAYMENT, "")]


async def test_a_tools_own_question_names_the_hidden_parts_too() -> None:
    @tool
    def ask_first(cents: dict[str, int], tool_context: ToolContext) -> str:
        """Pay cents to each of these."""
        if not tool_context.tool_confirmation:
            tool_context.request_confirmation(hint="Really?")
        return "paid"

    own = await asked(Runner(clerk(call("ask_first", cents=PAYMENT), tools=[ask_first])))
    assert own.hint == f"Really?\n{NOT_SHOWN}"


async def test_a_mark_in_a_key_is_not_taken_for_a_name() -> None:
    runner = Runner(clerk())
    wrong = Approve(arguments={"cents": {**MARKED, "eve": 1}, "memo": ""})
    [again] = (await answered(runner, await asked(runner), wrong)).pending
    assert "'arguments.cents' has a mark for something that is not shown" in again.hint
    assert ran == []


async def test_a_question_names_some_of_very_many_hidden_parts() -> None:
    payment = {f"{MALLORY}{n}": n for n in range(300)}
    pending = await asked(Runner(clerk(call("pay", cents=payment))))
    assert pending.hint.endswith(f"cents.{REDACTED}19 and 280 more.")


async def test_an_edit_beside_the_hidden_parts_keeps_them() -> None:
    runner = Runner(clerk())
    pending = await asked(runner)
    edit = Approve(arguments={"cents": MARKED, "memo": "rent"})
    assert (await answered(runner, pending, edit)).status == "done"
    assert ran == [(PAYMENT, "rent")]


async def test_a_hidden_part_that_becomes_another_after_the_edit_is_asked_about_again() -> None:
    seen: list[Args] = []

    async def swap(ctx: ToolContext, tool: Tool, args: Args) -> Args | None:
        seen.append(args)
        is_approved = tool.name == "pay" and len(seen) > 2
        return {**args, "cents": {BOB: 5}} if is_approved else None

    runner = Runner(clerk(call("pay", cents={MALLORY: 5}), hooks=Hooks(before_tool=swap)))
    pending = await asked(runner)
    edit = Approve(arguments={"cents": {REDACTED: 5}, "memo": "rent"})
    assert (await answered(runner, pending, edit)).status == "paused"
    assert ran == []


def test_what_a_person_left_alone_behind_a_mark_is_what_it_was() -> None:
    redactor = Redactor([MALLORY, BOB])

    def card(args: Args) -> dict[str, Any]:
        return redactor.inside(Exact(args).shown)

    marked, wanted = {"cents": {REDACTED: 5}}, {"cents": {MALLORY: 5}}
    assert says(marked, marked, wanted, {"cents": {MALLORY: 5}}, card)
    assert not says(marked, marked, wanted, {"cents": {BOB: 5}}, card)


async def test_a_reviewer_does_not_judge_what_it_cannot_see() -> None:
    reviewer = ScriptedModel('{"verdict": "allow", "reason": "one cent"}')
    policy = rules(Rule.allow("sign_in"), otherwise=reviewed_by(reviewer))
    runner = Runner(clerk(tools=[pay], policy=policy))
    pending = await asked(runner)
    assert pending.hint.startswith(f"A reviewer would not see cents.{REDACTED},")
    assert reviewer.requests == []
    assert (await answered(runner, pending, Approve())).status == "done"
    assert ran == [(PAYMENT, "")]
