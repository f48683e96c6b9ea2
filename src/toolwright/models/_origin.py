"""Know which server wrote a turn: what only that one understands is sent to no other."""

from dataclasses import replace
from urllib.parse import urlsplit

from toolwright.messages import Message, ModelMessage, ReasoningPart, ServerToolPart, ToolCall

__all__ = ["readable_at", "server_named", "written_at"]

_SERVER = "server"


def server_named(url: object) -> str:
    """The server at an address, without a user, a path and a query."""
    parts = urlsplit(str(url))
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}".lower()


def written_at(message: ModelMessage, server: str | None) -> ModelMessage:
    """`message` with a mark of the server that wrote it."""
    if server is None:
        return message
    return replace(message, meta={**message.meta, _SERVER: server})


def readable_at(message: Message, server: str) -> Message:
    """`message` without reasoning, signatures and ids, if another server of the same kind wrote it.

    A turn without the mark is from before there was one.
    """
    if not isinstance(message, ModelMessage) or message.meta.get(_SERVER, server) == server:
        return message
    parts = (
        replace(part, meta={}) if isinstance(part, ToolCall) else part
        for part in message.parts
        if not isinstance(part, ReasoningPart | ServerToolPart)
    )
    return replace(message, parts=tuple(parts), meta={})
