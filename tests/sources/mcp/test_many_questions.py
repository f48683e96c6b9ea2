"""What a server may ask of a person while one tool runs is bounded, and looked at beside the loop."""

import threading
from typing import Any

import mcp_types as types
import pytest
from tests.sources._calling import context

from toolwright import tool
from toolwright.sources.mcp import _questions
from toolwright.sources.mcp._questions import LATER, Asking, Questions

pytestmark = pytest.mark.anyio


@tool
def go() -> str:
    """Go."""
    return "gone"


def form(properties: int = 1) -> types.ElicitRequestFormParams:
    fields = {f"p{n}": {"type": "string", "pattern": f"^[a-z]{{9}}{n}$"} for n in range(properties)}
    schema: dict[str, Any] = {"type": "object", "properties": fields}
    return types.ElicitRequestFormParams(message="?", requested_schema=schema)


async def told(questions: Questions, asked: types.ElicitRequestFormParams) -> str:
    answer = await questions.elicit(None, asked)  # type: ignore[arg-type]
    assert isinstance(answer, types.ErrorData)
    return answer.message


async def test_the_schema_of_a_question_is_looked_at_beside_the_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked: list[int] = []
    monkeypatch.setattr(
        _questions, "SchemaCheck", lambda schema: looked.append(threading.get_ident())
    )
    questions = Questions("server")
    async with questions.on_behalf_of(Asking(context(go), []), says_for_whom=True):
        assert await told(questions, form()) == LATER
    assert looked != [threading.get_ident()]
    assert len(looked) == 1


async def test_a_call_asks_a_hundred_questions_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_questions, "_problem", lambda _: "")
    questions, asking = Questions("server"), Asking(context(go), [])
    async with questions.on_behalf_of(asking, says_for_whom=True):
        answers = [await told(questions, form()) for _ in range(102)]
    assert answers == [LATER] * 100 + ["One call may ask at most 100 questions."] * 2


async def test_a_form_that_is_too_long_is_refused_before_its_expressions_are_made() -> None:
    questions, asking = Questions("server"), Asking(context(go), [])
    async with questions.on_behalf_of(asking, says_for_whom=True):
        refused = await told(questions, form(4_900))
        assert await told(questions, form(20)) == LATER
    assert refused == "The form of this question has more than 100,000 letters."
    assert asking.question == form(20)
