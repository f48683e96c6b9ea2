"""Turn the text of a document, JSON or YAML, into plain values."""

from typing import Any, Literal

import pydantic_core

from toolwright._yaml import YamlError, load_yaml
from toolwright.errors import UsageError

__all__ = ["TextKind", "parse_text"]

TextKind = Literal["json", "yaml"]

_MOST_VALUES = 4_000_000
"""In one file: some 500 MB of memory. The largest document that is known to us has a million."""


def parse_text(text: str | bytes, kind: TextKind | None = None, *, origin: str) -> Any:
    """The values in `text`; without a `kind`, a brace at the start means JSON.

    `origin` says in errors where the text came from.
    """
    if kind not in (None, "json", "yaml"):
        raise UsageError(f"A document is written in 'json' or 'yaml'; got {kind!r}.")
    if isinstance(text, bytes):
        text = text.removeprefix(b"\xef\xbb\xbf")
        kind = kind or ("json" if text.lstrip()[:1] == b"{" else "yaml")
    else:
        text = text.removeprefix("\ufeff")
        kind = kind or ("json" if text.lstrip()[:1] == "{" else "yaml")
    if (values := _values(text)) > _MOST_VALUES:
        raise UsageError(
            f"{origin} has up to {values:,} values; a document may have {_MOST_VALUES:,}."
        )
    return _parse_json(text, origin) if kind == "json" else _parse_yaml(text, origin)


def _values(text: str | bytes) -> int:
    """How many values it has at most."""
    marks = b",{[\n" if isinstance(text, bytes) else ",{[\n"
    return sum(text.count(marks[i : i + 1]) for i in range(len(marks)))  # type: ignore[arg-type]


def _parse_json(text: str | bytes, origin: str) -> Any:
    try:
        # A third of the time and memory of the standard library: big documents repeat their keys.
        return pydantic_core.from_json(text)
    except ValueError as error:
        raise UsageError(
            f"{origin} is not JSON: {error}. If it is YAML, say so with spec_str_type='yaml'."
        ) from error


def _parse_yaml(text: str | bytes, origin: str) -> Any:
    try:
        return load_yaml(text, text_keys=True)
    except YamlError as error:
        raise UsageError(f"{origin} is not YAML: {error}") from error
