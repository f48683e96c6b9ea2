"""What a function's docstring tells the model: a description, and a line for each parameter."""

import inspect
import logging
import re
from typing import Any, NamedTuple

__all__ = ["Docstring", "read_docstring"]

_GOOGLE = re.compile(r"^(\s*)(?:Args|Arguments|Params|Parameters):\s*$")
_NUMPY = re.compile(r"^(\s*)Parameters\s*$")
_UNDERLINE = re.compile(r"^\s*-{3,}\s*$")
_SPHINX = re.compile(r"^(\s*):(?:param|type)\s")


class Docstring(NamedTuple):
    """The parts of a docstring that a tool needs."""

    description: str
    parameters: dict[str, str]


def read_docstring(func: Any) -> Docstring:
    """All of it but what it says of the parameters; and that, in Google, NumPy or Sphinx style."""
    text = inspect.cleandoc(getattr(func, "__doc__", None) or "")
    lines = text.split("\n")
    kept: list[str] = []
    styles: list[str] = []
    at = 0
    while at < len(lines):
        style, end = _section(lines, at)
        if style:
            styles.append(style)
        else:
            kept.append(lines[at])
        at = end
    first, *others = re.split(r"\n{2,}", "\n".join(kept).strip("\n"))
    # On one line, because lists of tools show the first line.
    description = "\n\n".join([" ".join(first.split()), *others])
    return Docstring(description, _parameters(text, styles[0]) if styles else {})


def _section(lines: list[str], at: int) -> tuple[str, int]:
    """The style of a section on parameters that begins at a line, if one does; the line after it."""
    following = at + 1
    if begins := _GOOGLE.match(lines[at]):
        return "google", _unindented(lines, following, len(begins[1]))
    if _SPHINX.match(lines[at]):
        return "sphinx", _unindented(lines, following, _indent(lines[at]))
    underlined = following < len(lines) and _UNDERLINE.match(lines[following])
    if underlined and _NUMPY.match(lines[at]):
        return "numpy", _headed(lines, following + 1)
    return "", following


def _unindented(lines: list[str], at: int, indent: int) -> int:
    """The first line from `at` on that is not indented further."""
    while at < len(lines) and (not lines[at].strip() or _indent(lines[at]) > indent):
        at += 1
    return at


def _headed(lines: list[str], at: int) -> int:
    """The first line from `at` on that is underlined."""
    while at < len(lines) and not (at + 1 < len(lines) and _UNDERLINE.match(lines[at + 1])):
        at += 1
    return at


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _parameters(text: str, style: str) -> dict[str, str]:
    # Imported here: griffe is 60 modules, and most tools do not need it.
    import griffe  # noqa: PLC0415

    logging.getLogger("griffe").setLevel(logging.ERROR)
    docstring = griffe.Docstring(text, lineno=1, parser=style)  # type: ignore[arg-type]
    return {
        item.name.lstrip("*"): " ".join(item.description.split())
        for section in docstring.parse()
        if section.kind is griffe.DocstringSectionKind.parameters
        for item in section.value
    }
