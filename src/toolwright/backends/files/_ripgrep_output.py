"""Read what ripgrep prints, while it prints it.

One operation on megabytes holds the interpreter for as long as it takes, in a thread as well. So
nothing here takes more than `_STEP` bytes at once, however much there is and however long a line is.
"""

import base64
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import IO, Any, Generic, TypeVar

from toolwright.backends.files._grep import (
    BINARY_WITHIN,
    MAX_LINE,
    FileMatches,
    Line,
    Query,
    shortened,
)

__all__ = ["Parsed", "parse_counts", "parse_files", "parse_lines", "parse_paths"]

T = TypeVar("T")
_STEP = 64 * 1024
_MAX_OUTPUT = 16 * 1024 * 1024
_LONG_LINE = re.compile(
    rb'\{"type":"(?P<type>match|context)".*?"lines":\{"(?P<form>text|bytes)":"'
    rb'(?P<value>(?:[^"\\]+|\\u[0-9a-fA-F]{4}|\\[^u])*)',
    re.DOTALL,
)
_NUMBER = re.compile(rb',"line_number":(\d+),')
"""Behind the text of a line; inside it, a quotation mark has a backslash before it."""


@dataclass(frozen=True, slots=True)
class Parsed(Generic[T]):
    """What was read, and whether that is all there was."""

    found: list[T]
    complete: bool


def parse_paths(output: IO[bytes], wants: Callable[[str], bool] | None) -> Parsed[str]:
    """Paths that begin with `./`, each with a zero byte after it; all, or those that are wanted."""
    found: list[str] = []
    left = _MAX_OUTPUT
    begun = b""
    while left > 0 and (chunk := output.read(min(_STEP, left))):
        left -= len(chunk)
        *whole, begun = (begun + chunk).split(b"\0")
        found += filter(wants, (_path(path) for path in whole))
    return Parsed(found, complete=left > 0)


def parse_files(output: IO[bytes], query: Query) -> Parsed[FileMatches]:
    """The same, as files with a match."""
    paths = parse_paths(output, query.wants)
    return Parsed([FileMatches(path=path, count=1) for path in paths.found], paths.complete)


def parse_counts(output: IO[bytes], query: Query) -> Parsed[FileMatches]:
    """Paths, each with a zero byte, a number and a newline after it; a path may have newlines, too."""
    found: list[FileMatches] = []
    left = _MAX_OUTPUT
    path, begun = b"", b""
    while left > 0 and (chunk := output.read(min(_STEP, left))):
        left -= len(chunk)
        *whole, begun = (begun + chunk).split(b"\0")
        for part in whole:
            path = _counted(path, part, query, found)
    _counted(path, begun, query, found)
    return Parsed(found, complete=left > 0)


def _counted(path: bytes, part: bytes, query: Query, found: list[FileMatches]) -> bytes:
    """Take what stands between two zero bytes: the number for `path`, and the next path."""
    if not path:
        return part
    count, newline, following = part.partition(b"\n")
    if newline and query.wants(_path(path)):  # Without it, ripgrep was ended in the middle.
        found.append(FileMatches(path=_path(path), count=int(count)))
    return following


def parse_lines(output: IO[bytes], query: Query) -> Parsed[FileMatches]:
    """JSON messages: `begin` and `end` of each file, with matches and context between them.

    Reading stops when there are more matches than are wanted; then the end of the last file is
    missing.
    """
    found: list[FileMatches] = []
    lines: list[Line] = []
    path, left, room = "", _MAX_OUTPUT, query.limit
    for kind, body in _messages(output):
        if kind == "begin":
            path, lines = _path(_bytes(body["path"])), []
        elif kind == "end":
            if lines and not _is_binary(body):
                found.append(_matches(path, lines))
            lines = []
        elif kind in ("match", "context") and query.wants(path):
            lines.append(_line(body, is_match=kind == "match"))
            room -= lines[-1].is_match
            left -= len(lines[-1].text)
        if room < 0 or left < 0:
            return Parsed([*found, _matches(path, lines)], complete=False)
    return Parsed(found, complete=True)


def _matches(path: str, lines: list[Line]) -> FileMatches:
    return FileMatches(path=path, count=sum(line.is_match for line in lines), lines=tuple(lines))


def _messages(output: IO[bytes]) -> Iterator[tuple[str, dict[str, Any]]]:
    while raw := output.readline(_STEP):
        if raw.endswith(b"\n"):
            message = json.loads(raw)
        elif len(raw) == _STEP:
            message = _long_message(raw, output)
        else:
            return  # Ripgrep was ended in the middle of a message.
        yield message["type"], message["data"]


def _long_message(begun: bytes, output: IO[bytes]) -> dict[str, Any]:
    """A message that is longer than a step: the beginning of its line, and the line's number."""
    line = _LONG_LINE.match(begun)
    assert line is not None, f"ripgrep printed an unknown message: {begun[:200]!r}"
    number: re.Match[bytes] | None = None
    chunk = begun
    while not chunk.endswith(b"\n"):
        number = number or _NUMBER.search(chunk, line.end() if chunk is begun else 0)
        more = output.readline(_STEP)
        if not more:
            break  # It was ended; the line itself was read.
        # The number may be cut in two, of which the second part is short.
        chunk = (chunk[-64:] if number is None else b"") + more
    number = number or _NUMBER.search(chunk)
    body = {"lines": _begun_text(line), "line_number": int(number[1]) if number else 1}
    return {"type": line["type"].decode(), "data": body}


def _begun_text(line: re.Match[bytes]) -> dict[str, str]:
    """As much of the text as is shown of a line, and a little more, so that it is seen to be cut."""
    value = line["value"]
    if line["form"] == b"bytes":
        return {"bytes": value[: MAX_LINE * 2 // 4 * 4].decode()}
    return {"text": json.loads(b'"' + value.decode("utf-8", "ignore").encode() + b'"')}


def _line(body: dict[str, Any], *, is_match: bool) -> Line:
    text = body["lines"].get("text")
    if text is None:
        text = _bytes(body["lines"]).decode("latin-1")
    return Line(body["line_number"], shortened(text), is_match)


def _is_binary(body: dict[str, Any]) -> bool:
    offset = body["binary_offset"]
    return offset is not None and offset < BINARY_WITHIN


def _path(raw: bytes) -> str:
    """A path of ours for one that begins with `./`."""
    return raw[1:].decode("utf-8", "replace")


def _bytes(value: dict[str, str]) -> bytes:
    """Text, which ripgrep writes in base64 when it is not UTF-8."""
    return value["text"].encode() if "text" in value else base64.b64decode(value["bytes"])
