"""Read what ripgrep prints."""

import base64
import json
from collections.abc import Iterator
from typing import Any

from toolwright.backends.files._grep import BINARY_WITHIN, FileMatches, Line, shortened

__all__ = ["parse_counts", "parse_files", "parse_lines", "parse_paths"]


def parse_paths(output: bytes) -> list[str]:
    """Paths that begin with `./`, each with a zero byte after it."""
    return [path[1:] for path in output.decode("utf-8", "replace").split("\0")[:-1]]


def parse_files(output: bytes) -> list[FileMatches]:
    """The same, as files with a match."""
    return [FileMatches(path=path, count=1) for path in parse_paths(output)]


def parse_counts(output: bytes) -> list[FileMatches]:
    """Lines of a path, a zero byte and a number."""
    found: list[FileMatches] = []
    for line in output.decode("utf-8", "replace").split("\n")[:-1]:
        path, _, count = line.rpartition("\0")
        found.append(FileMatches(path=path[1:], count=int(count)))
    return found


def parse_lines(output: bytes, named: str | None = None) -> list[FileMatches]:
    """JSON messages: `begin` and `end` of each file, with matches and context between them.

    `named` is the path to report when ripgrep read its standard input. Of the last file, the end may
    be missing: there was too much to read.
    """
    found: list[FileMatches] = []
    lines: list[Line] = []
    path = ""
    for kind, body in _messages(output):
        if kind == "begin":
            path, lines = named or _text(body["path"], "utf-8")[1:], []
        elif kind in ("match", "context"):
            lines.append(_line(body, is_match=kind == "match"))
        elif kind == "end":
            if not _is_binary(body):
                found.append(_matches(path, lines))
            lines = []
    return [*found, _matches(path, lines)] if lines else found


def _matches(path: str, lines: list[Line]) -> FileMatches:
    return FileMatches(path=path, count=sum(line.is_match for line in lines), lines=tuple(lines))


def _messages(output: bytes) -> Iterator[tuple[str, dict[str, Any]]]:
    for raw in output.split(b"\n")[:-1]:
        message = json.loads(raw)
        yield message["type"], message["data"]


def _line(body: dict[str, Any], *, is_match: bool) -> Line:
    return Line(body["line_number"], shortened(_text(body["lines"], "latin-1")), is_match)


def _is_binary(body: dict[str, Any]) -> bool:
    offset = body["binary_offset"]
    return offset is not None and offset < BINARY_WITHIN


def _text(value: dict[str, str], otherwise: str) -> str:
    """Text, which ripgrep writes in base64 when it is not UTF-8."""
    if "text" in value:
        return value["text"]
    return base64.b64decode(value["bytes"]).decode(otherwise, "replace")
