"""Read a SKILL.md: YAML between two `---` lines, then instructions in Markdown."""

import re
from typing import Any

from toolwright.errors import UsageError

try:
    from toolwright._yaml import YamlError, load_yaml
except ImportError as error:
    raise ImportError("Skills need an extra: pip install 'toolwright[skills]'") from error

__all__ = ["split_skill"]

_LONGEST_FIELDS = 64 * 1024
_FENCE = re.compile(r"^---[ \t]*$", re.M)


def split_skill(text: str) -> tuple[dict[Any, Any], str]:
    """The fields and the instructions; `UsageError` says what is wrong and in which line."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    opening = _FENCE.match(text)
    if opening is None:
        raise UsageError("it does not start with a line '---' and the fields of the skill.")
    closing = _FENCE.search(text, opening.end())
    if closing is None:
        raise UsageError("the fields are not closed by a second line '---'.")
    if closing.start() > _LONGEST_FIELDS:
        raise UsageError(
            f"there are {closing.start()} characters between the '---' lines; at most "
            f"{_LONGEST_FIELDS} are read. Put instructions below them."
        )
    fields = _load(text[opening.end() : closing.start()])
    if not isinstance(fields, dict):
        raise UsageError(f"there are no fields between the '---' lines, but {fields!r}.")
    return fields, text[closing.end() :].strip()


def _load(text: str) -> Any:
    try:
        return load_yaml(text, aliases=False)
    except YamlError as error:
        # The text begins after the opening line, with its line break.
        where = "the fields are" if error.line is None else f"line {error.line} is"
        hint = " Put a value with ': ' in it in quotes." if "mapping values" in str(error) else ""
        raise UsageError(f"{where} not valid YAML: {error.problem}.{hint}") from error
