"""The program's standard streams: whole, in any locale, also where the shell has closed one."""

import io
import os
import select
import sys
from typing import Any, BinaryIO, TextIO, cast

from toolwright.errors import ToolwrightError

__all__ = ["OutputError", "discard", "open_streams"]


class OutputError(ToolwrightError):
    """Standard output takes no more."""


class _Whole(io.FileIO):
    """A file whose writes are whole: the rest of a short one follows, or its error is raised.

    Unbuffered (`PYTHONUNBUFFERED`), nobody else would notice that a pipe took a part only, or none
    because somebody set it not to block.
    """

    def write(self, data: Any, /) -> int:
        """Write all of it."""
        left = whole = memoryview(data).cast("B")
        while left:
            written = super().write(left)
            if written is None:
                select.select([], [self], [])
            else:
                left = left[written:]
        return len(whole)


class _Output(io.TextIOWrapper):
    """Standard output; a failed write is told in words, a reader that left as the error it is."""

    def write(self, text: str, /) -> int:
        """Write, or raise `OutputError` or `BrokenPipeError`."""
        try:
            return super().write(text)
        except OSError as error:
            raise _translate(error) from error

    def flush(self) -> None:
        """Flush, or raise `OutputError` or `BrokenPipeError`."""
        try:
            super().flush()
        except OSError as error:
            raise _translate(error) from error


class _Notes(io.TextIOWrapper):
    """Standard error: what cannot be written there is lost, and no reason for a command to fail."""

    def write(self, text: str, /) -> int:
        """Write what can be written."""
        try:
            return super().write(text)
        except OSError:
            discard(self)
            return len(text)

    def flush(self) -> None:
        """Flush what can be flushed."""
        try:
            super().flush()
        except OSError:
            discard(self)


def _translate(error: OSError) -> Exception:
    if isinstance(error, BrokenPipeError):
        return error
    return OutputError(f"The output cannot be written: {error.strerror}.")


def open_streams() -> None:
    """Make all three streams usable; streams that somebody has put in their place are left alone."""
    _fill_gaps()
    if sys.stdin is None:
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - as long as the program
    if sys.stdout is None or type(sys.stdout) is io.TextIOWrapper:
        sys.stdout = _reopen(_Output, 1, sys.stdout)
    if sys.stderr is None or type(sys.stderr) is io.TextIOWrapper:
        sys.stderr = _reopen(_Notes, 2, sys.stderr)


def _fill_gaps() -> None:
    """Take the places of closed streams, which the next files to be opened would get otherwise."""
    for place, mode in ((0, os.O_RDONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(place)
        except OSError:
            # Standard output is opened for reading, so that writing fails as it should.
            os.open(os.devnull, mode)
            os.set_inheritable(place, True)


def _reopen(
    kind: type[io.TextIOWrapper], place: int, stream: io.TextIOWrapper | None
) -> io.TextIOWrapper:
    raw = _Whole(place, "w", closefd=False)
    if stream is None:
        return kind(io.BufferedWriter(raw), encoding="utf-8", errors="backslashreplace")
    encoding, by_line, at_once = stream.encoding, stream.line_buffering, stream.write_through
    is_buffered = isinstance(stream.detach(), io.BufferedIOBase)
    # A terminal or a locale that lacks a character gets a mark in its place.
    return kind(
        # Text writes whole pieces only, so that a raw file is a buffer without room.
        io.BufferedWriter(raw) if is_buffered else cast("BinaryIO", raw),
        encoding=encoding,
        errors="backslashreplace",
        line_buffering=by_line,
        write_through=at_once,
    )


def discard(stream: TextIO) -> None:
    """Let what is still buffered go nowhere: it would fail again at the very end."""
    try:
        place = stream.fileno()
    except (OSError, ValueError):
        return  # no file: whoever put it there looks after it
    empty = os.open(os.devnull, os.O_WRONLY)
    os.dup2(empty, place)
    os.close(empty)
