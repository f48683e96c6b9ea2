"""What the page on confirmation shows, works."""

import runpy
from pathlib import Path
from typing import Any

_SNIPPETS = Path(__file__).parents[2] / "docs" / "snippets" / "confirmation"


def _run(name: str) -> dict[str, Any]:
    return runpy.run_path(str(_SNIPPETS / f"{name}.py"))


def _texts(result: Any) -> list[str]:
    return [r.text for m in result.history if m.kind == "tool" for r in m.results]


def test_only_the_large_transfer_is_asked_about_and_runs_as_changed() -> None:
    small, large = _texts(_run("require")["result"])
    assert small == "500 cents went to Bob."
    assert "A person changed the arguments" in large
    assert "5000 cents went to Eve." in large


def test_named_tools_are_asked_about() -> None:
    assert [pending.name for pending in _run("interrupt_on")["paused"].pending] == ["delete_file"]


def test_rules_allow_ask_and_deny() -> None:
    paused = _run("rules")["paused"]
    assert [p.arguments for p in paused.pending] == [{"name": "tmp"}]
    assert paused.pending[0].hint == "This cannot be undone."


def test_a_function_asks_by_itself() -> None:
    found = _run("inside")
    assert found["ROWS"] == {"production": 4_000_000}
    assert "4000000!" in _texts(found["result"])[1]


def test_a_person_chooses_and_fills_in_a_form() -> None:
    choice, form = _texts(_run("choice")["result"])
    assert choice == "tea"
    assert "Long Lane 1" in form


def test_conditions_look_at_arguments_and_the_call() -> None:
    paused = _run("conditions")["paused"]
    assert [p.arguments["to"] for p in paused.pending] == ["Eve"]
    assert paused.pending[0].rule.startswith("Rule.ask('transfer', when='cents > 10_000")


def test_rules_hold_for_helpers() -> None:
    [pending] = _run("helpers")["paused"].pending
    assert pending.arguments == {"name": "tmp"}
    assert pending.rule == "Rule.ask('drop_table') in interrupt_on of agent 'dba'"


def test_a_model_reviews_what_no_rule_decides() -> None:
    [pending] = _run("reviewed")["paused"].pending
    assert pending.hint == "A reviewer would not allow it: Nobody asked to write to Eve."
