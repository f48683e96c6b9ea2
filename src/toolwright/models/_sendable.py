"""Keep text that is no valid Unicode from ending a run: file names and half emojis can hold it."""

import json
from collections.abc import Callable
from functools import wraps
from typing import Any

from toolwright.messages import Message

__all__ = ["sendable", "sendable_text"]

Wire = list[dict[str, Any]]


def sendable(convert: Callable[[Message], Wire]) -> Callable[[Message], Wire]:
    """`convert` with lone surrogates, which no provider can be sent, replaced by `?`."""

    @wraps(convert)
    def converted(message: Message) -> Wire:
        wire = convert(message)
        text = json.dumps(wire, ensure_ascii=False)
        clean = sendable_text(text)
        return wire if clean is text else json.loads(clean)

    return converted


def sendable_text(text: str) -> str:
    """`text` itself where it can be sent, or a copy without lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode(errors="replace").decode()
    return text
