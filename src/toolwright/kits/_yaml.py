"""YAML with the line of every value, so that an error can say where it is."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from toolwright._private import read_plain_file
from toolwright.errors import UsageError

try:
    from toolwright._yaml import Lines, YamlError, load_yaml
except ImportError as error:
    raise ImportError("Agent files need an extra: pip install 'toolwright[cli]'") from error

__all__ = ["Document", "read_yaml"]

_MOST_BYTES = 10_000_000


class Document:
    """What a YAML file holds, and where in it each value stands."""

    def __init__(self, path: Path, value: Any, lines: Lines) -> None:
        self.path = path
        self.value = value
        self._lines = lines

    def where(self, place: Sequence[int | str]) -> str:
        """`file:line` of a value, or of the nearest one around it."""
        steps = tuple(str(step) for step in place)
        while steps and steps not in self._lines:
            steps = steps[:-1]
        return f"{self.path}:{self._lines.get(steps, 1)}"


def read_yaml(path: Path) -> Document:
    """Read a file; what is not there or not YAML is a `UsageError` with its line."""
    try:
        content = read_plain_file(path, _MOST_BYTES)
        text = content.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
    except OSError as error:
        raise UsageError(f"Cannot read {path}: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise UsageError(f"{path}:{line}: this is not UTF-8; save the file as UTF-8.") from error
    lines: Lines = {}
    try:
        value = load_yaml(text, text_keys=True, lines=lines)
    except YamlError as error:
        raise UsageError(f"{path}:{error.line or 1}: this is not YAML: {error.problem}.") from error
    return Document(path, value, lines)
