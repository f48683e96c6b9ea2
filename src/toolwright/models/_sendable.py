"""What every provider is sent of a message: valid text, and nothing that only another server reads."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from toolwright.messages import Message, sendable_json
from toolwright.models._origin import readable_at

__all__ = ["sendable"]

Wire = list[dict[str, Any]]
Convert = Callable[[Message], Wire]


def sendable(server: str) -> Callable[[Convert], Convert]:
    """Make a converter one for `server`.

    Lone surrogates, which file names and half emojis can hold, are replaced by `?`.
    """

    def decorate(convert: Convert) -> Convert:
        @wraps(convert)
        def converted(message: Message) -> Wire:
            wire: Wire = sendable_json(convert(readable_at(message, server)))
            return wire

        return converted

    return decorate
