"""Asking a person: choices, free text and forms."""

from typing import Any

import pytest
from pydantic import BaseModel, Field

from toolwright import Agent, Reject, Result, Runner
from toolwright.builtin import ask_user, ask_user_for, get_user_choice
from toolwright.errors import UsageError
from toolwright.testing import ScriptedModel, call

pytestmark = pytest.mark.anyio


class Delivery(BaseModel):
    """Where something goes."""

    street: str
    floor: int = Field(default=0, ge=0)


async def paused_by(tool: Any, **arguments: Any) -> tuple[Runner, Result]:
    model = ScriptedModel(call(tool.name, **arguments), "Noted.", "Sorry.")
    runner = Runner(Agent(name="host", model=model, tools=[tool]))
    return runner, await runner.run("hello", session_id="s")


def tool_text(result: Result) -> str:
    return result.history[-2].results[0].text  # type: ignore[union-attr]


@pytest.mark.row("004-X3")
async def test_a_person_chooses_and_the_model_reads_the_choice() -> None:
    runner, paused = await paused_by(get_user_choice, options=["tea", "coffee"], question="Drink?")
    (pending,) = paused.pending
    assert (pending.kind, pending.hint) == ("choice", "Drink?")
    assert pending.payload == {"options": ["tea", "coffee"]}

    await runner.answer("s", pending.call_id, "tea")

    assert tool_text(await runner.resume("s")) == "tea"


async def test_only_an_option_that_was_offered_is_accepted() -> None:
    runner, paused = await paused_by(get_user_choice, options=["tea", "coffee"])
    with pytest.raises(UsageError, match="tea"):
        await runner.answer("s", paused.pending[0].call_id, "wine")
    assert await runner.answer("s", paused.pending[0].call_id, "coffee") == "accepted"


async def test_no_options_are_no_question() -> None:
    _, result = await paused_by(get_user_choice, options=[])
    assert result.status == "done"
    assert "options" in tool_text(result)


async def test_a_person_writes_freely() -> None:
    runner, paused = await paused_by(ask_user, question="Which city?")
    assert (paused.pending[0].kind, paused.pending[0].hint) == ("input", "Which city?")

    await runner.answer("s", paused.pending[0].call_id, "Łódź")

    assert tool_text(await runner.resume("s")) == "Łódź"


@pytest.mark.parametrize(
    "form",
    [Delivery, Delivery.model_json_schema()],
    ids=["model", "schema"],
)
async def test_a_form_is_checked_before_it_is_accepted(form: Any) -> None:
    tool = ask_user_for(form, name="ask_address", description="Ask where to deliver.")
    runner, paused = await paused_by(tool)
    call_id = paused.pending[0].call_id

    with pytest.raises(UsageError, match="floor"):
        await runner.answer("s", call_id, {"street": "Long Lane 1", "floor": -1})
    assert await runner.answer("s", call_id, {"street": "Long Lane 1", "floor": 2}) == "accepted"

    assert '"floor":2' in tool_text(await runner.resume("s")).replace(" ", "")


async def test_a_person_may_refuse_to_answer() -> None:
    runner, paused = await paused_by(ask_user, question="Your age?")
    await runner.answer("s", paused.pending[0].call_id, Reject(reason="private"))
    assert "private" in tool_text(await runner.resume("s"))
