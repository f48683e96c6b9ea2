"""Keep text that is no valid Unicode from ending a run: file names and half emojis can hold it."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from toolwright.messages import Message, sendable_json

__all__ = ["sendable"]

Wire = list[dict[str, Any]]


def sendable(convert: Callable[[Message], Wire]) -> Callable[[Message], Wire]:
    """`convert` with lone surrogates, which no provider can be sent, replaced by `?`."""

    @wraps(convert)
    def converted(message: Message) -> Wire:
        wire: Wire = sendable_json(convert(message))
        return wire

    return converted
