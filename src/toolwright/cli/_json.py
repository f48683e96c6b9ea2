"""JSON from outside: what a person typed, a tool said, or a file has."""

import json
from typing import Any

from toolwright.messages import each_once, json_copy

__all__ = ["read_json"]


def read_json(text: str) -> Any:
    """The value; `ValueError` for what is no JSON, or is nested deeper than every reader takes, and
    `RepeatedKeys` where it cannot be said which of two values is meant."""
    try:
        return json_copy(json.loads(text, object_pairs_hook=each_once))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
