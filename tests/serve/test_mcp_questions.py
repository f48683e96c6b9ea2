"""What the person in front of an MCP client is shown is the whole question, and nothing unseen."""

from typing import Any

import pytest

from toolwright.errors import UsageError
from toolwright.messages import Pending
from toolwright.serve.mcp._elicit import answer_from, question_for

types = pytest.importorskip("mcp_types")


def asked(kind: Any = "confirmation", **given: Any) -> Any:
    return question_for(Pending(call_id="c1", name="wipe", kind=kind, **given))


def test_arguments_and_what_the_tool_says_about_its_question_are_in_it() -> None:
    question = asked(hint="Wipe these?", arguments={"scope": "all"}, payload={"rows": 4_000_000})
    assert question.message.splitlines() == [
        "Wipe these?",
        'wipe({"scope": "all"})',
        '{"rows": 4000000}',
    ]


@pytest.mark.parametrize("where", ["hint", "arguments", "payload", "rule"])
def test_nothing_in_it_is_unseen_or_pretends(where: str) -> None:
    odd = "a\u202eb\u200b\x1b[2J p\u0430ypal"
    value = {"x": odd} if where in ("arguments", "payload") else odd
    message = asked(**{where: value}).message
    assert r"a\u202eb\u200b\u001b[2J" in message
    if where != "rule":
        assert "3 characters that would not be seen" in message
        assert "letters that look like others: “p\u0430ypal”" in message


def test_a_choice_is_offered_as_one_and_answered_with_one_of_its_options() -> None:
    options = ["tea", "coffee"]
    pending = Pending(
        call_id="c1",
        name="choose",
        kind="choice",
        hint="Which?",
        payload={"options": options},
        schema={"type": "string", "enum": options},
    )
    question: Any = question_for(pending)
    assert question.requested_schema["properties"]["answer"]["enum"] == options
    said = types.ElicitResult(action="accept", content={"answer": "tea"})
    assert answer_from(pending, said) == "tea"
    with pytest.raises(UsageError, match="'answer' is missing"):
        answer_from(pending, types.ElicitResult(action="accept", content={}))


def test_options_are_shown_with_all_that_is_in_them_and_each_is_answered_as_it_is() -> None:
    options = ["delete\u200b", "delete", r"delete\u200b", "invoice\u202efdp.exe", "a\u00a0b"]
    pending = Pending(
        call_id="c1", name="choose", kind="choice", payload={"options": options},
        schema={"type": "string", "enum": options},
    )  # fmt: skip
    question: Any = question_for(pending)
    shown = question.requested_schema["properties"]["answer"]["enum"]
    assert shown == [
        r"delete\u200b (2)", "delete", r"delete\u200b", r"invoice\u202efdp.exe", r"a\u00a0b"
    ]  # fmt: skip
    assert "3 characters that would not be seen" in question.message
    said = [types.ElicitResult(action="accept", content={"answer": text}) for text in shown]
    assert [answer_from(pending, answer) for answer in said] == options


def test_a_form_is_shown_with_all_that_is_in_it_and_read_as_it_is() -> None:
    fields = {
        "fo\u200blder": {"type": "string", "title": "Whi\u202ech?", "enum": ["b\u200b", "b"]},
        "files": {"type": "array", "items": {"anyOf": [{"const": "x\u200b", "title": "X"}]}},
        "note": {"type": "string"},
    }
    pending = Pending(
        call_id="c1", name="put", kind="input", schema={"type": "object", "properties": fields}
    )
    question: Any = question_for(pending)
    shown = question.requested_schema["properties"]
    assert shown[r"fo\u200blder"] == {"type": "string", "title": r"Whi\u202ech?", "enum": [r"b\u200b", "b"]}  # fmt: skip
    given = {r"fo\u200blder": r"b\u200b", "files": [r"x\u200b"], "note": r"b\u200b"}
    said = types.ElicitResult(action="accept", content=given)
    # What a person writes themselves is what they wrote.
    assert answer_from(pending, said) == {
        "fo\u200blder": "b\u200b", "files": ["x\u200b"], "note": r"b\u200b"
    }  # fmt: skip


def test_a_sign_in_and_a_problem_show_all_that_is_in_them() -> None:
    hint = "Sign in to p\u0430ypal\u202e"
    pending = Pending(
        call_id="c1",
        name="pay",
        kind="credential",
        hint=hint,
        payload={"auth_uri": "https://a.example"},
    )
    message = question_for(pending, "Not\u200b so.").message
    assert message.startswith("Not\\u200b so.\nSign in to p\u0430ypal\\u202e\n")
    assert "letters that look like others: “p\u0430ypal" in message


def test_other_questions_are_answered_with_a_text() -> None:
    question = asked("input", schema={"type": "string"})
    assert question.requested_schema["properties"] == {
        "answer": {"type": "string", "title": "Answer"}
    }
