"""What the page on agents shows, works."""

import pytest
from tests.docs._snippets import results_of, run_snippet

PAGE = "agents"


def test_instructions_take_values_from_the_state() -> None:
    found = run_snippet(PAGE, "instructions")
    assert found["plain_model"].requests[0].instructions == "The user is Ada. "
    assert found["made_model"].requests[0].instructions == "Answer in Dutch."


def test_an_answer_that_does_not_fit_is_asked_for_again() -> None:
    found = run_snippet(PAGE, "output")
    assert found["report"].celsius == 25.4
    assert len(found["model"].requests) == 3


@pytest.mark.anyio
async def test_a_run_can_be_watched() -> None:
    lines = await run_snippet(PAGE, "stream")["main"]()
    assert lines[:2] == ['→ add {"a": 2, "b": 3}', "← 5"]
    assert "".join(lines[2:]) == "Five it is."


def test_a_hook_answers_in_a_tools_place_or_changes_its_arguments() -> None:
    closed, opened = results_of(run_snippet(PAGE, "hooks")["result"])
    assert (closed.status, closed.text) == ("denied", "Closed on Sundays.")
    assert opened.text == "Open on monday."


def test_a_limit_ends_the_run_cleanly() -> None:
    result = run_snippet(PAGE, "limits")["result"]
    assert result.status == "stopped"
    assert "3 turns" in result.reason


def test_a_conversation_is_handed_over() -> None:
    assert run_snippet(PAGE, "transfer")["result"].agent == "billing"


def test_an_agent_reports_to_another() -> None:
    result = run_snippet(PAGE, "agent_tool")["result"]
    assert [r.text for r in results_of(result)] == ["Bees dance."]
