"""What every agent gets without asking: eight mistakes that must not hurt."""

import pytest

from toolwright import Agent, tool
from toolwright.agent import Result
from toolwright.messages import ToolMessage, ToolResult
from toolwright.testing import ScriptedModel, call

ran: list[str] = []


@tool
def add(a: int, b: int = 0) -> int:
    """Add two numbers."""
    ran.append(f"add {a!r} {b!r}")
    return a + b


@tool
def fail(reason: str) -> str:
    """Always raises."""
    raise ValueError(f"{reason}; api_key=abcdef123456")


@tool
def flood(megabytes: int) -> str:
    """Return a lot of text."""
    return "\n".join(f"line {n} {'x' * 90}" for n in range(megabytes * 10_500))


@pytest.fixture(autouse=True)
def _forget() -> None:
    ran.clear()


def play(*turns: object) -> Result:
    with ScriptedModel(*turns, "Done.") as model:  # type: ignore[arg-type]
        return Agent(name="t", model=model, tools=[add, fail, flood]).run_sync("go")


def results(result: Result) -> tuple[ToolResult, ...]:
    message = result.history[2]
    assert isinstance(message, ToolMessage)
    return message.results


@pytest.mark.row("002-76", "002-78")
def test_a_wrong_type_is_told_to_the_model_and_the_tool_does_not_run() -> None:
    [answer] = results(play(call("add", a="seven")))
    assert answer.status == "error"
    assert "'a': input should be a valid integer" in answer.text
    assert "found 'seven'" in answer.text
    assert ran == []


@pytest.mark.row("002-77", "004-F8")
def test_a_missing_argument_is_named() -> None:
    [answer] = results(play(call("add", b=1)))
    assert answer.status == "error"
    assert "missing required parameter 'a'" in answer.text
    assert ran == []


def test_an_extra_argument_is_refused_with_the_parameters_there_are() -> None:
    [answer] = results(play(call("add", a=1, c=2)))
    assert answer.status == "error"
    assert "unknown parameter 'c'; this tool takes: a, b" in answer.text
    assert ran == []


def test_a_number_sent_as_text_is_taken_as_the_number_it_is() -> None:
    [answer] = results(play(call("add", a="7")))
    assert (answer.status, answer.text) == ("ok", "7")
    assert ran == ["add 7 0"]


def test_an_unknown_tool_is_answered_with_near_names() -> None:
    [answer] = results(play(call("ad", a=1)))
    assert answer.status == "error"
    assert "There is no tool 'ad'. Near names: add" in answer.text


@pytest.mark.row("003-N8a", "003-N8b")
def test_a_tool_that_raises_gives_type_and_message_without_traceback_or_secret() -> None:
    [answer] = results(play(call("fail", reason="disk full")))
    assert answer.status == "error"
    assert answer.text == "ValueError: disk full; api_key=[redacted]"


def test_one_of_three_parallel_tools_raising_leaves_its_siblings_unharmed() -> None:
    turn = [call("add", a=1), call("fail", reason="no"), call("add", a=3)]
    answers = results(play(turn))
    assert [a.status for a in answers] == ["ok", "error", "ok"]
    assert [a.text for a in answers][::2] == ["1", "3"]


@pytest.mark.row("002-51")
def test_a_megabyte_of_output_is_cut_and_can_be_read_in_pages() -> None:
    def read_on(request: object) -> object:
        note = request.history[2].results[0].text  # type: ignore[attr-defined]
        name = note.split("Full output saved as '")[1].split("'")[0]
        return call("read_output", name=name, offset=10_400, limit=2)

    result = play(call("flood", megabytes=1), read_on)
    [answer] = results(result)
    assert len(answer.text.encode()) < 52_000
    assert answer.text.startswith("line 0 ")
    page = result.history[4].results[0].text  # type: ignore[union-attr]
    assert page.startswith("line 10400 ")
    assert "more lines; use offset=10402" in page
