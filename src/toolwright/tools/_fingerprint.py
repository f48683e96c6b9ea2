"""What an approval is bound to: a tool's fingerprint, and a full digest of a call's arguments."""

import hashlib
import json
import os
from collections.abc import Callable
from typing import Any

from toolwright.messages import jsonable
from toolwright.tools._arguments import Args
from toolwright.tools._exact import Exact

__all__ = ["ONCE", "digest_of", "digest_of_arguments"]

ONCE = "once-"
"""Begins the digests of arguments that a person does not see in full: an approval of them holds for
the call that was asked about, and is not remembered."""


def digest_of(*values: Any) -> str:
    """SHA-256 of plain JSON values; the same in every process."""
    return hashlib.sha256(json.dumps(values, sort_keys=True, default=jsonable).encode()).hexdigest()


def digest_of_arguments(args: Args, key: Callable[[], str] = str) -> str:
    """A digest of validated arguments: all of them, to any depth, whatever they look like.

    What cannot be told from other values gets a digest that no other call has, so that no approval
    ever covers it. `key` is asked for when there are secrets among them: without it nobody can find
    out from the digest whether a guess is right.
    """
    read = Exact(args)
    if read.unknowable:
        return os.urandom(32).hex()
    return read.digest(key() if read.has_secrets else "")
