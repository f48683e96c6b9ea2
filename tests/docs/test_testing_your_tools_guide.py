"""The tests that the page on testing shows, pass."""

import pytest
from tests.docs._snippets import run_snippet

PAGE = "testing-your-tools"


def test_a_scripted_test_passes() -> None:
    run_snippet(PAGE, "scripted")["test_a_division_by_zero_is_told_to_the_model"]()


def test_scripts_may_react() -> None:
    found = run_snippet(PAGE, "reacting")
    found["test_the_answer_repeats_what_the_tool_said"]()
    found["test_a_model_that_is_down_ends_the_run"]()


@pytest.mark.anyio
async def test_a_rejected_call_never_runs() -> None:
    await run_snippet(PAGE, "pause")["test_nothing_is_wiped_when_a_person_says_no"]()


@pytest.mark.anyio
async def test_backends_pass_their_suites() -> None:
    await run_snippet(PAGE, "suites")["test_our_backends_keep_their_promises"]()


def test_a_simulated_transfer_happens_once() -> None:
    run_snippet(PAGE, "simulated")["test_a_transfer_happens_once"]()


def test_what_a_prompt_cache_makes_of_it() -> None:
    found = run_snippet(PAGE, "prompt_cache")
    found["test_a_second_question_reads_what_the_first_one_wrote"]()
    found["test_tools_in_another_order_lose_everything"]()
