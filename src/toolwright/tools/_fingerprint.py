"""What an approval is bound to: a tool's fingerprint, and a full digest of a call's arguments."""

import hashlib
import json
import os
from typing import Any

from toolwright.messages import jsonable
from toolwright.tools._arguments import Args

__all__ = ["digest_of", "digest_of_arguments"]


def digest_of(*values: Any) -> str:
    """SHA-256 of plain JSON values; the same in every process."""
    return hashlib.sha256(json.dumps(values, sort_keys=True, default=_as_json).encode()).hexdigest()


def digest_of_arguments(args: Args) -> str:
    """A digest of validated arguments, all of them and to any depth.

    What cannot be written down whole gets a digest that no other call has, so that no approval
    ever covers it.
    """
    try:
        text = json.dumps(args, sort_keys=True, default=_as_json)
    except (TypeError, ValueError, RecursionError):
        text = os.urandom(32).hex()
    return hashlib.sha256(text.encode()).hexdigest()


def _as_json(value: Any) -> Any:
    """A value that JSON has no form for; a secret is told apart by what it is, not how it looks."""
    secret = getattr(value, "get_secret_value", None)
    return secret() if callable(secret) else jsonable(value)
