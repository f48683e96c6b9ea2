"""Ids of calls: for those that a provider left without one, and for providers that want their own."""

import re
from base64 import b32encode
from hashlib import sha256
from uuid import uuid4

__all__ = ["is_made_here", "new_call_id", "short_call_id"]

_PREFIX = "tw_"
_SHORT = re.compile(r"[a-zA-Z0-9]{9}")


def new_call_id() -> str:
    """An id that no other call has."""
    return f"{_PREFIX}{uuid4().hex}"


def is_made_here(call_id: str) -> bool:
    """Whether the provider does not know this id."""
    return call_id.startswith(_PREFIX)


def short_call_id(call_id: str) -> str:
    """Nine letters and digits: the id itself, or always the same ones for it."""
    if _SHORT.fullmatch(call_id):
        return call_id
    return b32encode(sha256(call_id.encode(errors="surrogatepass")).digest()).decode()[:9]
