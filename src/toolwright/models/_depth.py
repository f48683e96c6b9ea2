"""How deep JSON is nested: what is too deep can be read once, and then never be stored or sent."""

import json
import re
from collections.abc import Mapping
from typing import Any

__all__ = ["MOST_LEVELS", "as_object", "is_too_deep", "text_is_too_deep"]

MOST_LEVELS = 100
"""Serializers give up between 200 and 1,000, and a message is nested in others."""
_STRING = re.compile(r'"(?:[^"\\]|\\.)*+"?', re.S)
_BRACKET = re.compile(r"[][{}]")


def text_is_too_deep(text: str) -> bool:
    """Whether JSON text, or what should be some, is nested deeper than that."""
    if text.count("[") + text.count("{") <= MOST_LEVELS:
        return False
    level = 0
    for bracket in _BRACKET.findall(_STRING.sub("", text)):
        level += 1 if bracket in "[{" else -1
        if level > MOST_LEVELS:
            return True
    return False


def as_object(arguments: str) -> dict[str, Any]:
    """A call's arguments as an object; what is none was answered with an error and is only quoted."""
    try:
        value = arguments if text_is_too_deep(arguments) else json.loads(arguments)
    except (ValueError, RecursionError):
        value = arguments
    return value if isinstance(value, dict) else {"invalid": value}


def is_too_deep(value: Any) -> bool:
    """The same of a value; without recursion, which would end where this is to be found out."""
    level = [value]
    for _ in range(MOST_LEVELS + 1):
        level = [inner for one in level for inner in _inside(one)]
        if not level:
            return False
    return True


def _inside(value: Any) -> list[Any]:
    if isinstance(value, Mapping):
        return list(value.values())
    return list(value) if isinstance(value, list | tuple) else []
