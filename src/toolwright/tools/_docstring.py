"""What a function's docstring tells the model: a description, and a line for each parameter."""

import inspect
import logging
import re
from typing import Any, NamedTuple

__all__ = ["Docstring", "read_docstring"]

_SECTIONS = re.compile(
    r"^\s*(?:(?P<google>Args|Arguments|Params|Parameters):\s*$"
    r"|(?P<numpy>Parameters\s*\n\s*-{3,})"
    r"|(?P<sphinx>:param\s))",
    re.MULTILINE,
)
_ANY_SECTION = re.compile(
    r"^\s*(?:(?:Args|Arguments|Params|Parameters|Returns?|Raises|Yields|Examples?|Notes?):\s*$"
    r"|(?:Parameters|Returns?|Raises|Yields|Examples?|Notes?)\s*\n\s*-{3,}"
    r"|:(?:param|type|returns?|rtype|raises?)\b)",
    re.MULTILINE,
)


class Docstring(NamedTuple):
    """The parts of a docstring that a tool needs."""

    description: str
    parameters: dict[str, str]


def read_docstring(func: Any) -> Docstring:
    """The first paragraph, and the parameters' descriptions in Google, NumPy or Sphinx style."""
    text = inspect.cleandoc(getattr(func, "__doc__", None) or "")
    section = _ANY_SECTION.search(text)
    prose = text[: section.start()] if section else text
    description = " ".join(prose.strip().split("\n\n")[0].split())
    style = _SECTIONS.search(text)
    return Docstring(description, _parameters(text, style.lastgroup) if style else {})


def _parameters(text: str, style: str | None) -> dict[str, str]:
    # Imported here: griffe is 60 modules, and most tools do not need it.
    import griffe  # noqa: PLC0415

    logging.getLogger("griffe").setLevel(logging.ERROR)
    docstring = griffe.Docstring(text, lineno=1, parser=style or "google")  # type: ignore[arg-type]
    return {
        item.name.lstrip("*"): " ".join(item.description.split())
        for section in docstring.parse()
        if section.kind is griffe.DocstringSectionKind.parameters
        for item in section.value
    }
