"""Sessions in which a person runs one tool by hand."""

import json
import uuid
from typing import Any

__all__ = ["hand_session", "is_by_hand", "written"]

_PREFIX = "hand-"


def hand_session() -> str:
    """An id for a session in which one tool is run by hand."""
    return f"{_PREFIX}{uuid.uuid4().hex}"


def is_by_hand(session_id: str) -> bool:
    """Whether a session was made to run one tool by hand."""
    return session_id.startswith(_PREFIX)


def written(tool: str, arguments: dict[str, Any]) -> str:
    """A call as the message that asks for it."""
    return f"{tool} {json.dumps(arguments, ensure_ascii=False)}"
