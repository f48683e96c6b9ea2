"""What may leave the server of events and state: all but what the framework keeps for itself.

With the key that digests of secrets are made with, anybody could try out guesses on them.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from toolwright.messages import Event, StateChanged, decode_event, encode_event, is_encoded_event
from toolwright.tools import RESERVED

__all__ = ["public_event", "public_state", "public_text"]


def public_state(state: Mapping[str, Any]) -> dict[str, Any]:
    """A session's state, or what of it has changed."""
    return {key: value for key, value in state.items() if not key.startswith(RESERVED)}


def public_event(event: Event) -> Event:
    """The event; itself, if it has nothing to hide."""
    if isinstance(event, StateChanged):
        return replace(event, delta=public_state(event.delta)) if _hides(event.delta) else event
    actions = getattr(event, "actions", None)
    if actions is None or not _hides(actions.state_delta):
        return event
    shown = replace(actions, state_delta=public_state(actions.state_delta))
    return replace(event, actions=shown)  # type: ignore[call-arg]


def public_text(text: str) -> str:
    """A stored event as it may be sent; as it is, unless there is something to hide or to renew."""
    if is_encoded_event(text) and not any(key in text for key in RESERVED):
        return text
    return encode_event(public_event(decode_event(text)))


def _hides(delta: Mapping[str, Any]) -> bool:
    return any(key.startswith(RESERVED) for key in delta)
