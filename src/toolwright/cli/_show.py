"""Show events: rich in a terminal, plain in a pipe, or one JSON object a line."""

import sys
from typing import Protocol

from rich.console import Console
from rich.markup import escape

from toolwright.messages import (
    Event,
    HistoryCompacted,
    ModelReplied,
    PendingOpened,
    RunEnded,
    TextDelta,
    ToolEnded,
    ToolProgress,
    ToolStarted,
    Transferred,
    encode_event,
)

__all__ = ["JsonShow", "PlainShow", "RichShow", "Show", "choose_show"]

_MARKS = {
    "ok": "[green]✓[/]",
    "error": "[red]✗[/]",
    "denied": "[yellow]⊘[/]",
    "pending": "[cyan]…[/]",
}
_SHORT = 300


class Show(Protocol):
    """Shows one event after the other."""

    def __call__(self, event: Event) -> None:
        """Show `event`."""
        ...


def choose_show(*, json: bool) -> Show:
    """What fits the place the output goes to."""
    if json:
        return JsonShow()
    return RichShow(Console(highlight=False)) if sys.stdout.isatty() else PlainShow()


class JsonShow:
    """All events, for programs."""

    def __call__(self, event: Event) -> None:
        """One line of JSON."""
        sys.stdout.write(f"{encode_event(event)}\n")
        sys.stdout.flush()


class PlainShow:
    """The final text on standard output; what the tools do on standard error."""

    def __call__(self, event: Event) -> None:
        """A line for what matters in a log."""
        match event:
            case ToolStarted():
                sys.stderr.write(f"[{event.call.name}] {event.call.arguments[:_SHORT]}\n")
            case ToolEnded() if event.result.status != "ok":
                sys.stderr.write(
                    f"[{event.result.name}] {event.result.status}: {event.result.text}\n"
                )
            case RunEnded() if not event.path:
                if event.text:
                    sys.stdout.write(f"{event.text}\n")
                if event.reason:
                    sys.stderr.write(f"stopped: {event.reason}\n")


class RichShow:
    """Streams text and shows each call as it runs."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._streamed = False

    def __call__(self, event: Event) -> None:
        """Show it the way a person likes to read it."""
        say = self._console.print
        match event:
            case TextDelta() if not event.path:
                self._streamed = True
                say(escape(event.text), end="")
            case ModelReplied() if not event.path:
                say("" if self._streamed else escape(event.message.text))
                self._streamed = False
            case ToolStarted():
                inner = "  " * event.path.count("/") + ("  " if event.path else "")
                say(
                    f"{inner}[bold]{event.call.name}[/] [dim]{escape(event.call.arguments[:_SHORT])}[/]"
                )
            case ToolProgress() if event.text.strip():
                say(f"  [dim]{escape(event.text.rstrip()[-_SHORT:])}[/]")
            case ToolEnded():
                lines = event.result.text.strip().splitlines() or [""]
                more = f" [dim](+{len(lines) - 1} lines)[/]" if len(lines) > 1 else ""
                say(f"  {_MARKS[event.result.status]} {escape(lines[0][:_SHORT])}{more}")
            case PendingOpened():
                say(f"  {_MARKS['pending']} waits for a {event.pending.kind}")
            case Transferred():
                say(f"[magenta]→ {event.to_agent}[/]")
            case HistoryCompacted():
                say("[dim](the earlier conversation was summarised)[/]")
            case RunEnded() if event.reason and not event.path:
                say(f"[red]stopped:[/] {escape(event.reason)}")
