"""What the page on function tools shows, works."""

import pytest
from tests.docs._snippets import ROOT, results_of, run_snippet

PAGE = "function-tools"


def test_two_mistakes_are_told_field_by_field_and_a_slip_is_repaired() -> None:
    wrong, right = results_of(run_snippet(PAGE, "schema")["result"])
    assert wrong.status == "error"
    page = (ROOT / "docs" / "guides" / "function-tools.md").read_text()
    assert wrong.text in page
    assert right.text == "A table for 1 inside: Ada and friends."


def test_the_model_reads_one_thing_and_the_interface_gets_another() -> None:
    stock, customer, picture = results_of(run_snippet(PAGE, "outputs")["result"])
    assert stock.text == '{"sku":"T-1","left":7}'
    assert customer.text == "Ada (ada@example.org)"
    assert customer.data["orders"] == [4, 8]
    assert [part.kind for part in picture.content] == ["blob"]


@pytest.mark.anyio
async def test_a_generator_shows_its_progress() -> None:
    seen = await run_snippet(PAGE, "progress")["main"]()
    assert seen == ["page 1 of 2", "page 2 of 2", "2 pages indexed"]


def test_failures_are_told_without_a_traceback() -> None:
    refused, broke = results_of(run_snippet(PAGE, "errors")["result"])
    assert refused.text.startswith("Order 'paid-back' was paid back already")
    assert broke.text == "ZeroDivisionError: division by zero"


def test_the_context_reaches_the_function_and_not_the_model() -> None:
    found = run_snippet(PAGE, "context")
    assert found["result"].state == {"cart": ["tea"]}
    assert list(found["add_to_cart"].spec.parameters["properties"]) == ["sku"]


def test_a_tool_is_only_shown_to_those_who_may_use_it() -> None:
    found = run_snippet(PAGE, "settings")
    assert found["ask"](found["Customer"]("premium")) == ["weather_lookup"]
    assert found["ask"](found["Customer"]("free")) == []
    assert [r.text for r in results_of(found["result"])] == ["api 1 is live.", "api 2 is live."]


def test_a_hand_written_schema_is_enforced() -> None:
    wrong, right = results_of(run_snippet(PAGE, "by_hand")["result"])
    assert (wrong.status, right.text) == ("error", "a tool for smoothing wood")


def test_a_method_is_a_tool_of_its_object() -> None:
    found = run_snippet(PAGE, "methods")
    assert [r.text for r in results_of(found["result"])] == ["1 in the basket."]
    assert (found["mine"].items, found["yours"].items) == (["tea"], [])


def test_examples_are_checked_when_the_tool_is_defined() -> None:
    found = run_snippet(PAGE, "examples")
    assert "Examples of arguments:" in found["create_ticket"].spec.description_with_examples
    assert found["misspelt"]().startswith("Example 1 of tool 'create_ticket' does not fit")
