"""JSON from outside: what a person typed, a tool said, or a file has."""

import json
from typing import Any

from toolwright.messages import json_copy

__all__ = ["read_json"]


def read_json(text: str) -> Any:
    """The value; `ValueError` for what is no JSON, or is nested deeper than every reader takes."""
    try:
        return json_copy(json.loads(text))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
