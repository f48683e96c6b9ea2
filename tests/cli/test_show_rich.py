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
    Pending,
    PendingChanged,
    PendingOpened,
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
