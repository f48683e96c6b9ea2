"""What a person at a terminal sees of calls, those that never started included."""

from io import StringIO
from typing import Literal

import pytest
from rich.console import Console

from toolwright.cli._show import outcome
from toolwright.cli._show_rich import RichShow
from toolwright.cli._terminal import Terminal
from toolwright.messages import (
    Event,
    ModelMessage,
    ModelReplied,
    Pending,
    PendingChanged,
    PendingOpened,
    RunEnded,
    RunStarted,
    TextDelta,
    TextPart,
    ToolCall,
    ToolEnded,
    ToolResult,
    ToolStarted,
)

CALL = ToolCall(call_id="c1", name="wipe", arguments='{"disk": "a"}')
STARTED = ToolStarted(call=CALL)


def ended(status: str = "ok") -> ToolEnded:
    content = (TextPart("Denied: never" if status == "denied" else "wiped"),)
    return ToolEnded(result=ToolResult(call_id="c1", name="wipe", status=status, content=content))  # type: ignore[bad-argument-type]


def asked(*, blocking: bool = True) -> PendingOpened:
    pending = Pending(
        call_id="c1", name="wipe", kind="confirmation", arguments={"disk": "a"}, blocking=blocking
    )
    return PendingOpened(pending=pending)


def shown(*events: Event) -> list[str]:
    out = StringIO()
    show = RichShow(Terminal(console=Console(file=out, width=80)))
    for event in events:
        show(event)
    return out.getvalue().splitlines()


def test_a_call_that_is_refused_before_it_starts_is_named() -> None:
    assert shown(ended("denied")) == ["wipe ", "  ⊘ Denied: never"]


@pytest.mark.parametrize("failed", [None, True])
def test_a_call_that_says_that_it_has_failed_is_no_success(failed: Literal[True] | None) -> None:
    content = (TextPart("1 failed"),)
    result = ToolResult(call_id="c1", name="bash", status="ok", content=content, failed=failed)
    assert shown(ToolEnded(result=result))[-1] == f"  {'✗' if failed else '✓'} 1 failed"
    assert outcome(result) == ("failed" if failed else "ok")


def test_a_call_that_asks_before_it_starts_is_shown_with_its_arguments_once() -> None:
    lines = ['wipe {"disk": "a"}', "  … waits for a confirmation", "  ✓ wiped"]
    assert shown(asked(), STARTED, ended()) == lines


def test_a_call_that_waits_after_its_end_is_named_once() -> None:
    lines = ['wipe {"disk": "a"}', "  ✓ wiped", "  … waits for a confirmation"]
    assert shown(STARTED, ended(), asked(blocking=False)) == lines


def test_signs_that_stream_one_by_one_do_not_pile_up_and_a_picture_in_pieces_stays_one() -> None:
    pieces = ["a", *["\u0301"] * 7, "b👩", "\u200d🚀"]
    assert shown(*(TextDelta(text=piece) for piece in pieces)) == [
        "a" + "\u0301" * 5 + r"\u0301" * 2 + "b👩\u200d🚀"
    ]


def test_what_begins_a_line_does_not_belong_to_the_line_before() -> None:
    out = StringIO()
    terminal = Terminal(console=Console(file=out, width=80))
    terminal.say("a" + "\u0301" * 5)
    terminal.say("\u0301")
    assert out.getvalue() == "a" + "\u0301" * 5 + "\n\u0301\n"


def test_a_call_that_the_run_goes_on_without_is_not_ticked_off() -> None:
    left = PendingChanged(pending=asked(blocking=False).pending)
    assert shown(STARTED, asked(), left, ended())[-1] == "  … wiped"
    still = PendingChanged(pending=asked().pending)
    assert shown(STARTED, asked(), still, ended())[-1] == "  ✓ wiped"


def said(path: str, *parts: TextPart | ToolCall) -> ModelReplied:
    return ModelReplied(path=path, agent=path.rpartition("/")[2], message=ModelMessage(parts=parts))


def test_what_the_steps_of_a_workflow_say_is_shown_with_their_names() -> None:
    streamed = TextDelta(path="two", agent="two", text="Two.")
    events = [said("one", TextPart("One.")), streamed, said("two", TextPart("Two."))]
    end = RunEnded(status="done", text="Two.")
    assert shown(RunStarted(), *events, end) == ["[one]", "One.", "[two]", "Two."]


def test_steps_that_write_side_by_side_do_not_mix_their_words() -> None:
    deltas = [TextDelta(path=at, agent=at, text=text) for at, text in [("a", "A "), ("b", "B ")]]
    more = TextDelta(path="a", agent="a", text="is here.")
    ends = [said("a", TextPart("A is here.")), said("b", TextPart("B is."))]
    assert shown(*deltas, more, *ends) == ["[a]", "A is here.", "[b]", "B is."]


@pytest.mark.parametrize("path", ["", "one"])
def test_what_an_agent_inside_a_call_says_is_not_part_of_the_conversation(path: str) -> None:
    inside = f"{path}/c1" if path else "c1"
    for known in (said(path, CALL), ToolStarted(path=path, call=CALL)):
        texts = TextDelta(path=inside, text="inner"), said(f"{inside}/step", TextPart("inner"))
        assert not any("inner" in line for line in shown(known, *texts))


def test_the_answer_of_an_agent_without_a_model_is_shown() -> None:
    assert shown(RunStarted(), RunEnded(status="done", text="By hand.")) == ["By hand."]
