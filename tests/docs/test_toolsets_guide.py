"""What the page on toolsets shows, works."""

import pytest
from tests.docs._snippets import results_of, run_snippet

PAGE = "toolsets"


def test_a_toolset_lists_other_tools_for_other_roles() -> None:
    ask = run_snippet(PAGE, "by_role")["ask"]
    assert ask("guest") == ["data_read"]
    assert ask("editor") == ["data_read", "data_write"]


@pytest.mark.anyio
async def test_lists_are_filtered_prefixed_renamed_and_combined() -> None:
    assert await run_snippet(PAGE, "reshape")["names"]() == ["books_search", "find_film"]


def test_a_wrapper_denies_what_is_over_the_budget() -> None:
    result = run_snippet(PAGE, "wrapper")["result"]
    assert [r.status for r in results_of(result)] == ["ok", "denied"]
