"""What a person at a terminal sees of calls, those that never started included."""

from io import StringIO

from rich.console import Console

from toolwright.cli._show_rich import RichShow
from toolwright.cli._terminal import Terminal
from toolwright.messages import (
    Event,
    Pending,
    PendingOpened,
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


def test_a_call_that_asks_before_it_starts_is_shown_with_its_arguments_once() -> None:
    lines = ['wipe {"disk": "a"}', "  … waits for a confirmation", "  ✓ wiped"]
    assert shown(asked(), STARTED, ended()) == lines


def test_a_call_that_waits_after_its_end_is_named_once() -> None:
    lines = ['wipe {"disk": "a"}', "  ✓ wiped", "  … waits for a confirmation"]
    assert shown(STARTED, ended(), asked(blocking=False)) == lines
