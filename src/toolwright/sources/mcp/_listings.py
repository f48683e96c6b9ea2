"""Judge what a server sends before the SDK reads it: listings item by item, the rest by its number.

The SDK would refuse a listing whole for one item, and takes as many parts and questions as there are.
"""

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import Any, Self

import anyio
import mcp_types as types
from mcp_types.methods import parse_server_result
from pydantic import ValidationError

from toolwright.concurrency import in_stoppable_thread
from toolwright.sources._counted import cut_parts
from toolwright.sources._usable import MOST_TOOLS

__all__ = ["Listings"]

_log = logging.getLogger("toolwright.mcp")
_LISTED = {
    "tools/list": ("tools", "tool"),
    "resources/list": ("resources", "resource"),
    "resources/templates/list": ("resourceTemplates", "resource template"),
    "prompts/list": ("prompts", "prompt"),
}
_NEEDED = ("cacheScope", "resultType", "ttlMs")
"""What a listing must have beside its items, in some version."""
_MOST_ASKED = 100
"""Listings waited for; of those that are never answered, the oldest are forgotten."""
_MOST_LOGGED = 20
_MOST_OPEN = 1000
"""Questions of a server that it has not taken the answers to."""


class Listings:
    """What one server lists, judged item by item as the SDK will judge it."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.version: str | None = None
        """The protocol's, by which to judge; None before it is agreed upon."""
        self._asked: dict[str, str] = {}
        self._open = 0

    @asynccontextmanager
    async def over(self, transport: AbstractAsyncContextManager[Any]) -> AsyncIterator[Any]:
        """The transport, whose listings have only what is allowed."""
        async with transport as (reading, writing):
            yield _Reading(reading, self), _Writing(writing, self)

    def note_answered(self, message: Any) -> None:
        """Count what was sent to the server in answer to its questions."""
        if isinstance(message, types.JSONRPCResponse | types.JSONRPCError):
            self._open -= 1

    def has_too_many_open(self, message: Any) -> bool:
        """Whether, with this message, the server asks more than it takes answers to."""
        if isinstance(message, types.JSONRPCRequest):
            self._open += 1
        if self._open > _MOST_OPEN:
            _log.error("%s asks without taking the answers; it is left.", self._name)
        return self._open > _MOST_OPEN

    def note_request(self, message: Any) -> None:
        """Remember which answers will be listings."""
        if isinstance(message, types.JSONRPCRequest) and message.method in _LISTED:
            self._asked[str(message.id)] = message.method
            if len(self._asked) > _MOST_ASKED:
                del self._asked[next(iter(self._asked))]

    async def judge(self, message: Any) -> None:
        """Take out of the answer to a listing what is not allowed, and log it."""
        if not isinstance(message, types.JSONRPCResponse):
            return
        cut_parts(message.result)
        method = self._asked.pop(str(message.id), None)
        if method is None or self.version is None:
            return
        key, kind = _LISTED[method]
        items = message.result.get(key)
        if isinstance(items, list) and len(items) > MOST_TOOLS:
            _log.error("%s lists more than %s %ss; the others are left out.",
                       self._name, f"{MOST_TOOLS:,}", kind)  # fmt: skip
            del items[MOST_TOOLS:]
        take_out = partial(_take_out, method, self.version, message.result)
        unfit = await in_stoppable_thread(take_out)
        for which, why in unfit[:_MOST_LOGGED]:
            _log.error("%s lists the %s %s, which MCP does not allow: %s. It is left out.",
                       self._name, kind, which, why)  # fmt: skip
        if len(unfit) > _MOST_LOGGED:
            _log.error("%s lists %s more %ss that MCP does not allow; they are left out.",
                       self._name, f"{len(unfit) - _MOST_LOGGED:,}", kind)  # fmt: skip


def _take_out(
    method: str, version: str, result: dict[str, Any], between: Callable[[], None]
) -> list[tuple[str, str]]:
    """Leave in `result` what is allowed; returns which items were not, and why."""
    key = _LISTED[method][0]
    items = result.get(key)
    if not isinstance(items, list) or _problem(method, version, result) is None:
        return []
    # Without all else, which would have to be read again with each item.
    alone = {name: result[name] for name in _NEEDED if name in result}
    if any(_problem(method, version, rest | {key: []}) for rest in (result, alone)):
        return []  # It is not the items: the SDK refuses it, and says why.
    kept: list[Any] = []
    unfit: list[tuple[str, str]] = []
    for number, item in enumerate(items, 1):
        between()
        why = _problem(method, version, alone | {key: [item]})
        if why is None:
            kept.append(item)
        else:
            unfit.append((_which(item, number), why))
    result[key] = kept
    return unfit


def _problem(method: str, version: str, result: dict[str, Any]) -> str | None:
    try:
        parse_server_result(method, version, result)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        loc = first["loc"]
        inside = loc[loc.index(0) + 1 :] if 0 in loc else loc
        return f"{'.'.join(map(str, inside)) or 'it'!r:.200}: {first['msg']:.200}"
    except KeyError:
        return None  # That version has no such listing, and the SDK does not judge it.
    return None


def _which(item: Any, number: int) -> str:
    name = item.get("name") if isinstance(item, dict) else None
    return f"{name[:100]!r}" if isinstance(name, str) else f"without a name (number {number})"


class _Reading:
    """The SDK's stream from the server, with its listings judged."""

    def __init__(self, inner: Any, listings: Listings) -> None:
        self._inner = inner
        self._listings = listings

    @property
    def last_context(self) -> Any:
        """In which the SDK handles the last message."""
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> Any:
        item = await self._inner.receive()
        message = getattr(item, "message", None)
        if self._listings.has_too_many_open(message):
            raise anyio.EndOfStream
        await self._listings.judge(message)
        return item

    async def aclose(self) -> None:
        await self._inner.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        await self._inner.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> bool | None:
        return await self._inner.__aexit__(*error)


class _Writing:
    """The SDK's stream to the server, watched for questions for listings."""

    def __init__(self, inner: Any, listings: Listings) -> None:
        self._inner = inner
        self._listings = listings

    async def send(self, item: Any, /) -> None:
        self._listings.note_request(item.message)
        await self._inner.send(item)
        self._listings.note_answered(item.message)

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def __aenter__(self) -> Self:
        await self._inner.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> bool | None:
        return await self._inner.__aexit__(*error)
