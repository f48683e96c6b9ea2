"""`toolwright check`: what would make an agent's tools hard to use for a model."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from toolwright.cli._shared_state import shared_state
from toolwright.tools import Tool

__all__ = ["Finding", "check_tools", "token_cost"]

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_VAGUE = re.compile(
    r"(does|do|run|call|execute|use|handle|process)\s+(it|this|stuff|things?|the tool)\b", re.I
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing worth changing."""

    level: Literal["error", "warning"]
    tool: str
    message: str


def token_cost(tool: Tool) -> int:
    """About how many tokens the definition costs in every request."""
    spec = tool.spec
    told = spec.description_with_examples
    text = json.dumps({"name": spec.name, "description": told, "parameters": spec.parameters})
    return max(1, len(text) // 4)


def check_tools(tools: Sequence[Tool]) -> list[Finding]:
    """What is wrong first, what could be better after that."""
    counts = Counter(tool.name for tool in tools)
    found = [
        Finding(
            level="error", tool=name, message=f"{count} tools have this name; rename or prefix them"
        )
        for name, count in counts.items()
        if count > 1
    ]
    for tool in tools:
        found += [
            Finding(level=level, tool=tool.name, message=text) for level, text in _look_at(tool)
        ]
    found += _side_by_side(tools)
    return sorted(found, key=lambda finding: (finding.level != "error", finding.tool))


def _side_by_side(tools: Sequence[Tool]) -> Iterator[Finding]:
    """The calls of one turn run at once, but for tools that are `sequential`."""
    for shared in shared_state(tools):
        names = {tool.name for tool in (*shared.writers, *shared.others)}
        for tool in shared.writers:
            others = ", ".join(repr(name) for name in sorted(names - {tool.name}))
            message = (
                f"it changes {shared.what} that {others} also use, and calls of one turn run side "
                "by side; say sequential=True, or lock what it changes"
            )
            yield Finding(level="warning", tool=tool.name, message=message)


def _look_at(tool: Tool) -> Iterator[tuple[Literal["error", "warning"], str]]:
    spec = tool.spec
    if not _NAME.fullmatch(spec.name):
        yield "error", "providers accept letters, digits, '_' and '-' only, at most 64 of them"
    if not spec.description:
        yield "error", "it has no description; the model cannot know when to use it"
    elif len(spec.description) < 15 or _VAGUE.search(spec.description):
        yield "warning", f"its description is vague: {spec.description!r}"
    length = len(spec.description_with_examples)
    if length > 1024:
        whose = "its description with its examples" if spec.examples else "its description"
        yield "warning", f"{whose} has {length} characters; some providers cut at 1024"
    yield from _parameters(spec.parameters)
    if token_cost(tool) > 1000:
        yield "warning", f"its definition costs about {token_cost(tool)} tokens in every request"


def _parameters(schema: dict[str, Any]) -> Iterator[tuple[Literal["error", "warning"], str]]:
    if schema.get("type") != "object":
        yield "error", f"its parameters must be an object; the schema says {schema.get('type')!r}"
    for name, field in schema.get("properties", {}).items():
        if not _NAME.fullmatch(name):
            yield "error", f"parameter {name!r}: some providers refuse this name"
        if not isinstance(field, dict) or not (field.keys() - {"description", "default"}):
            yield "warning", f"parameter {name!r} has no type"
        elif not field.get("description"):
            yield "warning", f"parameter {name!r} has no description"
