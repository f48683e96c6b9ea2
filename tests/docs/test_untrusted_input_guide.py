"""What the page on untrusted input shows and counts, is so."""

import runpy
from pathlib import Path
from typing import Any

import pytest
from tests.agent._ordinary_day import DAY

from toolwright.tools import Tool

_DOCS = Path(__file__).parents[2] / "docs"
_PAGE = (_DOCS / "guides" / "untrusted-input.md").read_text()


def _run(name: str) -> dict[str, Any]:
    return runpy.run_path(str(_DOCS / "snippets" / "untrusted-input" / f"{name}.py"))


def test_the_question_is_the_one_on_the_page() -> None:
    [pending] = _run("careful")["paused"].pending
    assert pending.hint in _PAGE


@pytest.mark.anyio
async def test_tools_have_the_labels_that_the_page_gives_them() -> None:
    notes, number, outside, ours, wrapped = _run("labels")["tools"]
    listed: list[Tool] = await wrapped.list_tools()
    assert [tool.label for tool in (notes, number, *listed)] == [
        "untrusted",
        "trusted",
        "untrusted",
    ]
    assert (outside.trust, ours.trust) == (None, "trusted")


def test_an_account_from_a_mail_is_denied_and_another_value_asked_about() -> None:
    first, second = _run("rules")["policy"].ordered
    assert str(first) == "Rule.deny('pay', from_untrusted=True)"
    assert str(second) == "Rule.ask(from_untrusted=True)"


def test_the_page_counts_the_ordinary_day() -> None:
    asking = [task for task in DAY if task.asks]
    assert f"{len(DAY)} tasks with mail" in _PAGE
    assert f"asks in {len(asking)} of them" in _PAGE
