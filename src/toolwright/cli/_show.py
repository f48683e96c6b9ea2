"""Show events as text or as JSON; for a person at a terminal see `_show_rich`."""

import sys
from typing import Protocol

from toolwright.cli._out import note, note_line, say_exactly, say_line
from toolwright.cli._parts import all_parts, named_files
from toolwright.cli._shorten import shorten
from toolwright.messages import (
    Event,
    ModelReplied,
    RunEnded,
    ToolEnded,
    ToolResult,
    ToolStarted,
    encode_event,
)

__all__ = ["JsonShow", "PlainShow", "Show", "choose_show", "outcome"]

_SHORT = 300


class Show(Protocol):
    """Shows one event after the other; why a run stopped is for whoever started it to say."""

    def __call__(self, event: Event) -> None:
        """Show `event`."""
        ...


def outcome(result: ToolResult) -> str:
    """How a call ended, in a word."""
    return "failed" if result.failed else result.status


def choose_show(*, json: bool) -> Show:
    """What fits the place the output goes to."""
    if json:
        return JsonShow()
    if not sys.stdout.isatty():
        return PlainShow()
    from toolwright.cli._show_rich import RichShow  # noqa: PLC0415 - slow to load

    return RichShow()


class JsonShow:
    """All events, for programs."""

    def __call__(self, event: Event) -> None:
        """One line of JSON."""
        say_line(encode_event(event))
        sys.stdout.flush()


class PlainShow:
    """The final text on standard output; what the tools do on standard error."""

    def __call__(self, event: Event) -> None:
        """A line for what matters in a log."""
        match event:
            case ToolStarted():
                note_line(f"[{event.call.name}] {shorten(event.call.arguments, _SHORT)}")
            case ToolEnded() if (word := outcome(event.result)) != "ok":
                note(f"[{event.result.name}] {word}: {all_parts(event.result.content)}")
            case ToolEnded():
                for file in named_files(event.result.content):
                    note_line(f"[{event.result.name}] {file}")
            case ModelReplied():
                for file in named_files(event.message.parts):
                    note_line(file)
            case RunEnded() if event.text and not event.path:
                say_exactly(event.text)
