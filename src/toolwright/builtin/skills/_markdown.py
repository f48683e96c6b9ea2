"""Read a SKILL.md: YAML between two `---` lines, then instructions in Markdown."""

import re
from typing import Any

from toolwright.errors import UsageError

try:
    import yaml
except ImportError as error:
    raise ImportError("Skills need an extra: pip install 'toolwright[skills]'") from error

__all__ = ["split_skill"]

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
    fields = _load(text[opening.end() : closing.start()])
    if not isinstance(fields, dict):
        raise UsageError(f"there are no fields between the '---' lines, but {fields!r}.")
    return fields, text[closing.end() :].strip()


class _StrictLoader(yaml.SafeLoader):
    """Plain values only: no aliases, which can blow up, and no field twice."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            event = self.get_event()
            raise yaml.MarkedYAMLError(
                problem="aliases are not allowed", problem_mark=event.start_mark
            )
        return super().compose_node(parent, index)

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        seen: set[str] = set()
        for key, _ in node.value:
            if key.value in seen:
                raise yaml.MarkedYAMLError(
                    problem=f"there are two fields {key.value!r}", problem_mark=key.start_mark
                )
            seen.add(key.value if isinstance(key.value, str) else repr(key.value))
        return super().construct_mapping(node, deep)


def _load(text: str) -> Any:
    try:
        return yaml.load(text, _StrictLoader)
    except yaml.MarkedYAMLError as error:
        # The text begins after the opening line, with its line break.
        line = error.problem_mark.line + 1 if error.problem_mark else 0
        hint = " Put a value with ': ' in it in quotes." if "mapping values" in str(error) else ""
        raise UsageError(f"line {line} is not valid YAML: {error.problem}.{hint}") from error
    except yaml.YAMLError as error:
        raise UsageError(f"the fields are not valid YAML: {error}") from error
