"""Read what an SDK's client was answered, as JSON: an object, or the events of a stream."""

import json
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

import anyio

from toolwright.models._errors import not_a_reply, parsing
from toolwright.models._exchange import exchange
from toolwright.models._sent_errors import refuse_error
from toolwright.models._sse import EventDecoder

__all__ = ["DONE", "answer_of", "events_of"]

DONE: dict[str, Any] = {}
"""Comes after the last event, as itself, where the server has sent its own sign of the end."""
_LONGEST_DRAIN = 0.5
"""Seconds for what follows the end; a connection whose answer was read whole is used again."""


async def answer_of(response: Any, name: str) -> dict[str, Any]:
    """The object that is the whole answer; `ModelError` for anything else, and for an error."""
    exchange().answered(response.status_code)
    body = await response.aread()
    _note(body)
    with parsing(name):
        return _object(json.loads(body), name)


async def events_of(response: Any, name: str) -> AsyncGenerator[dict[str, Any], None]:
    """The events of the answer as they come, and `DONE`. A server that does not stream sends one."""
    if "json" in response.headers.get("content-type", ""):
        yield await answer_of(response, name)
        yield DONE
        return
    exchange().answered(response.status_code)
    decoder = EventDecoder()
    pieces = response.aiter_bytes()
    async for piece in pieces:
        _note(piece)
        for event in decoder.feed(piece):
            if event.data.startswith(b"[DONE]"):
                await _drain(pieces)
                yield DONE
                return
            with parsing(name):
                answer = _object(json.loads(event.data), name, event.name)
            yield answer


def _note(piece: bytes) -> None:
    """Our own clients have noted it already, and closer to the wire."""
    if not exchange().is_watched:
        exchange().came(piece)


async def _drain(pieces: AsyncIterator[bytes]) -> None:
    with anyio.move_on_after(_LONGEST_DRAIN):
        async for _ in pieces:
            pass


def _object(answer: Any, name: str, event: str = "") -> dict[str, Any]:
    refuse_error(answer, name, event)
    if isinstance(answer, dict):
        return answer
    raise not_a_reply(name, "in place of a JSON object", json.dumps(answer, ensure_ascii=False))
