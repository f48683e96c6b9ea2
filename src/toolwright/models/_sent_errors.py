"""Find the error that a server sends in place of a reply, or in the middle of one, under HTTP 200."""

import json
from collections.abc import Mapping
from typing import Any

from toolwright.models._errors import model_error, reason_of
from toolwright.models._exchange import exchange

__all__ = ["refuse_error"]

_CODES = ("code", "type", "status")
"""Where servers say which error it is, by a word or by the status that it should have had."""


def refuse_error(answer: Any, name: str, event: str = "") -> None:
    """Raise the error that `answer` is; nothing happens if it is none.

    `event` is the name under which it came in a stream.
    """
    error = _error_in(answer, event)
    if error is None:
        return
    status = exchange().status
    codes = tuple(error.get(key) for key in _CODES)
    message = error.get("message") or json.dumps(answer, ensure_ascii=False)
    reason = reason_of(str(message), codes)
    raise model_error(
        name,
        message if status is None else f"HTTP {status}: {message}",
        # The server says that it has failed, and not why: what is not known may pass.
        reason="server" if reason == "unknown" else reason,
    )


def _error_in(answer: Any, event: str) -> Mapping[str, Any] | None:
    if not isinstance(answer, dict):
        return {"message": answer} if event == "error" else None
    error = answer.get("error")
    if isinstance(error, dict) and error:
        return error
    if error:
        return {"message": error, **answer} if isinstance(error, str) else answer
    if "error" in (event, answer.get("type"), answer.get("object")) or _says_so(answer):
        return answer
    return None


def _says_so(answer: Mapping[str, Any]) -> bool:
    """Whether this is a message with the code of an error, and no reply has such."""
    message, codes = answer.get("message"), tuple(answer.get(key) for key in _CODES)
    return isinstance(message, str) and reason_of("", codes) != "unknown"
