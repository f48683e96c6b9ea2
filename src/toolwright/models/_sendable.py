"""What every provider is sent of a message: valid text, and nothing that only another server reads."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from toolwright.messages import Message, sendable_json
from toolwright.models._call_ids import CallRules
from toolwright.models._origin import readable_at

__all__ = ["sendable"]

Wire = list[dict[str, Any]]
Convert = Callable[[Message], Wire]


def sendable(server: str, rules: CallRules) -> Callable[[Convert], Convert]:
    """Make a converter one for `server`, with ids and names of calls by its `rules`.

    Lone surrogates, which file names and half emojis can hold, are replaced by `?`.
    """

    def decorate(convert: Convert) -> Convert:
        @wraps(convert)
        def converted(message: Message) -> Wire:
            wire: Wire = sendable_json(convert(rules.kept_by(readable_at(message, server))))
            return wire

        return converted

    return decorate
