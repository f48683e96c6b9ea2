"""What the program logs on standard error; commands that run for long, one line for each record."""

import itertools
import json as json_text
import logging
import re
import time
import traceback
from collections.abc import Callable
from datetime import UTC, datetime

from toolwright.cli._shorten import shorten

__all__ = ["JsonLine", "OneLine", "innermost", "log_lines", "log_warnings"]

_LONGEST = 2_000
_FRAME = re.compile(r"^ *\| ?")
_FRAME_END = re.compile(r"^ *\+-")
_GROUP = re.compile(r"(?<!\s)\s*+\+ Exception Group $")
_SILENCE_SECONDS = 30.0
_SOURCES = ("toolwright.mcp", "toolwright.plugin", "toolwright.toolbox", "toolwright.sources")
_TRACEBACK = "Traceback (most recent call last):"


class _Stderr(logging.StreamHandler):
    """The program's own handler, which a command replaces by another."""


def log_warnings() -> None:
    """For commands that end at once: what other packages warn of, and which sources are left out.

    The rest of our own is told as the outcome.
    """
    _use(_Visible()).addFilter(_Once())
    _set_levels(logging.CRITICAL, logging.ERROR)


def log_lines(
    level: int,
    *,
    verbose: bool,
    json: bool = False,
    more: str = "",
    task: Callable[[], str] = lambda: "",
) -> None:
    """For commands that run for long: a line for each record, with tracebacks if `verbose`.

    Args:
        level: What is logged of our own; of other packages, warnings and errors.
        verbose: Write tracebacks below their lines.
        json: Write each record as a JSON object.
        more: What else has more about an error.
        task: Whose work it is about.
    """
    lines = (JsonLine if json else OneLine)(verbose, more=more, task=task)
    handler = _use(lines)
    handler.addFilter(_NotAgain(lines))
    _set_levels(level, level)


def _set_levels(own: int, sources: int) -> None:
    logging.getLogger("toolwright").setLevel(own)
    for name in _SOURCES:
        logging.getLogger(name).setLevel(sources)


def _use(formatter: logging.Formatter) -> logging.Handler:
    root = logging.getLogger()
    for old in [handler for handler in root.handlers if isinstance(handler, _Stderr)]:
        root.removeHandler(old)
    handler = _Stderr()
    handler.setFormatter(formatter)
    root.addHandler(handler)
    return handler


class _Once(logging.Filter):
    """Each text once: a source that is away is left out in every turn."""

    def __init__(self) -> None:
        super().__init__()
        self._told: set[str] = set()

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether it is new."""
        text = record.getMessage()
        is_new = text not in self._told
        self._told.add(text)
        return is_new


class _Visible(logging.Formatter):
    """Only the message, made visible."""

    def format(self, record: logging.LogRecord) -> str:
        """The text."""
        return _visible(super().format(record))


class OneLine(logging.Formatter):
    """One line for each record, safe to read; with tracebacks below it where they are wanted."""

    def __init__(
        self, tracebacks: bool, *, more: str = "", task: Callable[[], str] = lambda: ""
    ) -> None:
        super().__init__()
        self._tracebacks = tracebacks
        self._more = f"{more}--verbose has the traceback"
        self._task = task

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        line = f"{self.formatTime(record)} {record.levelname:<7} {self.text(record)}"
        trace = _trace(record)
        if self._tracebacks and trace:
            return _visible(f"{line}\n{_redacted(trace)}")
        return _visible(f"{line} ({self._more})" if trace else line, lines=False)

    def text(self, record: logging.LogRecord) -> str:
        """What happened, in one line, and to which task."""
        text, task = self.said(record), self._task()
        return text if task in text else f"task {task}: {text}"

    def said(self, record: logging.LogRecord) -> str:
        """What happened, in one line."""
        said, found, trace = record.getMessage().partition(_TRACEBACK)
        told = [_GROUP.sub("", said).strip()]
        if found:
            told.append(_cause(trace))
        elif record.exc_info and record.exc_info[1]:
            error = innermost(record.exc_info[1])
            told.append(f"{type(error).__name__}: {error}")
        # Cut last: half of a secret would not be known for one.
        return shorten(_redacted(" ".join(": ".join(filter(None, told)).split())), _LONGEST)


class JsonLine(OneLine):
    """One JSON object for each record, with the fields that its caller has given."""

    def format(self, record: logging.LogRecord) -> str:
        """The object, in a line of ASCII."""
        given = {name: getattr(record, name, None) for name in ("event", "task", "agent", "worker")}
        found = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            **given,
            "task": given["task"] or self._task() or None,
            "message": self.said(record),
            "traceback": _redacted(_trace(record)) if self._tracebacks else None,
        }
        return json_text.dumps({name: value for name, value in found.items() if value})


def innermost(error: BaseException) -> BaseException:
    """What went wrong, taken out of the groups that concurrency puts around it."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


def _cause(trace: str) -> str:
    """The error at the end of a traceback, which may have several lines."""
    last = trace.rpartition(_TRACEBACK)[2].strip("\n")
    # Those of a group are in a frame.
    lines = [_FRAME.sub("", line) for line in last.splitlines() if not _FRAME_END.match(line)]
    frames = itertools.takewhile(lambda line: line[:1].isspace(), lines)
    return " ".join(lines[len(list(frames)) :] or lines[-1:])


def _trace(record: logging.LogRecord) -> str:
    """The traceback that comes with a record, or inside its message."""
    if record.exc_info and record.exc_info[1] is not None:
        return "".join(traceback.format_exception(record.exc_info[1])).rstrip()
    _, found, trace = record.getMessage().partition(_TRACEBACK)
    return f"{found}{trace}".rstrip()


def _visible(text: str, *, lines: bool = True) -> str:
    from toolwright.messages import visible  # noqa: PLC0415 - slow to load, and seldom needed

    return visible(text, lines=lines)


def _redacted(text: str) -> str:
    from toolwright.messages import redact  # noqa: PLC0415 - slow to load, and seldom needed

    return redact(text)


class _NotAgain(logging.Filter):
    """Leaves out what was said a moment ago: an outage is told now and then, not at every look."""

    def __init__(self, lines: OneLine) -> None:
        super().__init__()
        self._lines = lines
        self._said: dict[str, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether it is news, or was said long enough ago."""
        if record.levelno < logging.WARNING:
            return True
        now, text = time.monotonic(), self._lines.text(record)
        self._said = {old: at for old, at in self._said.items() if now - at < _SILENCE_SECONDS}
        if text in self._said:
            return False
        self._said[text] = now
        return True
