"""The task of `toolwright run`, from its words and from standard input."""

import os
import select
import stat
import sys
from collections.abc import Sequence

from toolwright.cli._out import note
from toolwright.errors import UsageError
from toolwright.messages import Prompt, TextPart

__all__ = ["check_task", "read_task"]

_PATIENCE_SECONDS = 2.0


def check_task(task: str, more: Sequence[str]) -> None:
    """`UsageError` for words that are not one task."""
    if "-" in (task, *more) and more:
        raise UsageError(
            "`-` reads the whole task from standard input and takes no words beside it; without "
            "the `-`, what is piped in is added to the task."
        )
    if more:
        raise UsageError(f"`run` takes one task, so put it in quotes: {' '.join((task, *more))!r}.")
    if not task.strip():
        raise UsageError(
            "The task is empty; say what to do, or `-` to read it from standard input."
        )


def read_task(task: str, *, with_input: bool) -> Prompt:
    """The task; '-' is all of standard input, and what is piped in is added to other tasks.

    What is added is not what the person asks for: it may be from anywhere.
    """
    if task == "-":
        text = _read()
        if not text.strip():
            raise UsageError("The task was to come from standard input ('-'), which is empty.")
        return text
    text = _read() if with_input and _is_piped() else ""
    return [task, TextPart(f"\n{text}", source="standard input")] if text.strip() else task


def _is_piped() -> bool:
    """Whether somebody feeds standard input: a terminal or /dev/null does not."""
    try:
        mode = os.fstat(sys.stdin.fileno()).st_mode
    except (OSError, ValueError, AttributeError):
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISREG(mode) or stat.S_ISSOCK(mode)


def _read() -> str:
    if sys.stdin.isatty():
        note("write the task; Ctrl-D ends it")
    elif not select.select([sys.stdin], [], [], _PATIENCE_SECONDS)[0]:
        # A program that starts this one may leave its end of the pipe open.
        note("waiting for standard input to end; `< /dev/null` goes without it")
    try:
        # Editors on Windows put a mark before the first character.
        return sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"Standard input is not text in UTF-8: {error}.") from error
