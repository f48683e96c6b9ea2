"""State values that are mappings whose members are stored one by one, each under a key of its own."""

from collections.abc import Mapping
from typing import Any

__all__ = ["MEMBER", "fold_members", "member_key"]

MEMBER = "\x1f"
"""Stands between the key of a mapping and the name of a member (ASCII's "unit separator")."""


def member_key(key: str, name: str) -> str:
    """The key under which one member of the mapping at `key` is stored."""
    return f"{key}{MEMBER}{name}"


def fold_members(stored: Mapping[str, Any]) -> dict[str, Any]:
    """The state as people see it: members stored one by one are in their mappings again."""
    values = {key: value for key, value in stored.items() if MEMBER not in key}
    copied: set[str] = set()
    for full in stored.keys() - values.keys():
        key, _, name = full.partition(MEMBER)
        if key not in copied:
            copied.add(key)
            known = values.get(key)
            values[key] = dict(known) if isinstance(known, Mapping) else {}
        values[key][name] = stored[full]
    return values
