"""Take from a document what is of the right kind, and nothing where it is not: many are wrong."""

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["as_list", "as_mapping", "as_texts"]


def as_mapping(value: Any) -> Mapping[str, Any]:
    """`value` if it is an object, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def as_list(value: Any) -> Sequence[Any]:
    """`value` if it is a list, else an empty one."""
    return value if isinstance(value, list) else ()


def as_texts(value: Any) -> list[str]:
    """The texts in `value` if it is a list."""
    return [item for item in as_list(value) if isinstance(item, str)]
