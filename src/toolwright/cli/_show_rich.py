"""Show events to a person at a terminal: text as it streams, calls as they run."""

import json

from toolwright.cli._parts import named_files
from toolwright.cli._shorten import shorten
from toolwright.cli._terminal import Terminal
from toolwright.messages import (
    Event,
    HistoryCompacted,
    ModelReplied,
    PendingChanged,
    PendingOpened,
    RunEnded,
    RunStarted,
    TextDelta,
    ToolEnded,
    ToolProgress,
    ToolResult,
    ToolStarted,
    Transferred,
    call_of,
    visible,
)

__all__ = ["RichShow"]

_MARKS = {
    "ok": ("✓", "green"),
    "error": ("✗", "red"),
    "denied": ("⊘", "yellow"),
    "pending": ("…", "cyan"),
}
_SHORT = 300


class RichShow:
    """Streams text and shows each call as it runs."""

    def __init__(self, terminal: Terminal | None = None) -> None:
        self._terminal = terminal or Terminal()
        self._writing: str | None = None
        """The path of whoever's text is streamed: steps of a workflow may write side by side."""
        self._replied = False
        """A model has said something in this run."""
        self._calls: set[str] = set()
        """The addresses of calls; a path without one is that of the agent, or of a workflow's step."""
        self._titled: set[str] = set()
        """The calls whose name and arguments were shown, until they end."""
        self._ongoing: set[str] = set()
        """The calls that the run does not wait for any more: their ends are none."""

    def __call__(self, event: Event) -> None:
        """Show it the way a person likes to read it."""
        say = self._terminal.say
        match event:
            case RunStarted() if not event.path:
                self._replied, self._writing = False, None
            case RunEnded() if not event.path:
                if (
                    event.text and not self._replied
                ):  # An agent of one's own may do without a model.
                    say(event.text)
            case TextDelta() if self._writing in (None, event.path):
                if self._is_outer(event.path):
                    self._name_step(event)
                    self._writing = event.path
                    say(event.text, end="")
            case ModelReplied():
                if self._is_outer(event.path):
                    self._reply(event)
                self._calls |= {_address(event.path, call.call_id) for call in event.message.calls}
            case ToolStarted():
                self._calls.add(_address(event.path, event.call.call_id))
                self._title(event.path, event.call.call_id, event.call.name, event.call.arguments)
            case ToolProgress() if event.text.strip():
                say("  ", (shorten(visible(event.text.rstrip()), _SHORT), "dim"))
            case ToolEnded():
                # One that was refused has not started.
                self._title(event.path, event.result.call_id, event.result.name)
                address = f"{event.path}/{event.result.call_id}"
                self._titled.discard(address)
                lines = event.result.text.strip().splitlines()
                more = f" (+{len(lines) - 1} lines)" if len(lines) > 1 else ""
                first, *files = [*lines[:1], *named_files(event.result.content)] or [""]
                mark = _MARKS["pending"] if address in self._ongoing else _mark(event.result)
                say("  ", mark, " ", _line(first), (more, "dim"))
                for file in files:
                    say("    ", _line(file))
            case PendingChanged() if not event.pending.blocking:
                path, _, call_id = call_of(event.pending.call_id).rpartition("/")
                self._ongoing.add(f"{path}/{call_id}")
            case PendingOpened():
                if event.pending.blocking:  # Otherwise it has ended already.
                    path, _, call_id = call_of(event.pending.call_id).rpartition("/")
                    arguments = json.dumps(event.pending.arguments, ensure_ascii=False)
                    self._title(path, call_id, event.pending.name, arguments)
                say("  ", _MARKS["pending"], f" waits for a {event.pending.kind}")
            case Transferred():
                say((f"→ {_line(event.to_agent)}", "magenta"))
            case HistoryCompacted():
                say(("(the earlier conversation was summarised)", "dim"))

    def _is_outer(self, path: str) -> bool:
        """Whether what happens at `path` is part of the conversation, and not inside a call."""
        parts = path.split("/")
        return self._calls.isdisjoint("/".join(parts[: end + 1]) for end in range(len(parts)))

    def _name_step(self, event: Event) -> None:
        if event.path and self._writing != event.path:
            self._terminal.say((f"[{_line(event.agent)}]", "dim"))

    def _reply(self, event: ModelReplied) -> None:
        """All that a model has said, or the end of it where it was streamed."""
        say, self._replied = self._terminal.say, True
        if self._writing == event.path:
            say("")
            self._writing = None
        elif event.message.text or not event.path:
            if self._writing is not None:
                say("")  # Another step is in the middle of a line.
            self._name_step(event)
            say(event.message.text)
        for file in named_files(event.message.parts):
            say((_line(file), "dim"))

    def _title(self, path: str, call_id: str, name: str, arguments: str = "") -> None:
        """Say which call it is about, once."""
        address = f"{path}/{call_id}"
        if address in self._titled:
            return
        self._titled.add(address)
        inner = "  " * path.count("/") + ("  " if path else "")
        self._terminal.say(inner, (_line(name), "bold"), " ", (_line(arguments), "dim"))


def _address(path: str, call_id: str) -> str:
    return f"{path}/{call_id}" if path else call_id


def _mark(result: ToolResult) -> tuple[str, str]:
    return _MARKS["error" if result.failed else result.status]


def _line(text: str) -> str:
    return shorten(visible(text, lines=False), _SHORT)
