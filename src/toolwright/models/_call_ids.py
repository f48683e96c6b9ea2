"""Ids for calls that a provider left without one."""

from uuid import uuid4

__all__ = ["is_made_here", "new_call_id"]

_PREFIX = "tw_"


def new_call_id() -> str:
    """An id that no other call has."""
    return f"{_PREFIX}{uuid4().hex}"


def is_made_here(call_id: str) -> bool:
    """Whether the provider does not know this id."""
    return call_id.startswith(_PREFIX)
