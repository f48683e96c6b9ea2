"""How a Toolbox server is asked: its answers are measured before anybody reads them, as MCP servers' are."""

import json
from typing import Any

from toolwright.backends.sandboxes import check_guest_json
from toolwright.concurrency import in_io_thread
from toolwright.sources._counted import cut_parts
from toolwright.sources._measured import measured, mended

try:
    from aiohttp import ClientError, ClientResponse, ClientSession
except ImportError as error:
    raise ImportError("Toolbox needs an extra: pip install 'toolwright[toolbox]'") from error

__all__ = ["measuring_session"]

_MOST_BYTES = 64 * 1024 * 1024
_LONG = 65536


def measuring_session() -> ClientSession:
    """A session that follows no redirect, and refuses what is packed, too long or costly to read."""
    return ClientSession(
        # Packed, a few bytes could become any number.
        headers={"Accept-Encoding": "identity"},
        auto_decompress=False,
        response_class=_MeasuredResponse,
    )


class _MeasuredResponse(ClientResponse):
    async def start(self, connection: Any) -> ClientResponse:
        started = await super().start(connection)
        if 300 <= self.status < 400:
            # Whoever is named there would get the tokens.
            raise ClientError(f"it answers with a redirect ({self.status}), which is not followed")
        packed = self.headers.get("Content-Encoding", "identity").strip().lower()
        if packed != "identity":
            raise ClientError(f"it packs its answers ({packed!r:.100}), though it was asked not to")
        return started

    async def read(self) -> bytes:
        if self._body is None:
            try:
                self._body = await measured(await self._whole())
            except ValueError as error:
                self.close()
                raise ClientError(f"its answer is more than is read: {error}") from None
            except BaseException:
                self.close()
                raise
        return self._body

    async def _whole(self) -> bytes:
        read = bytearray()
        async for chunk in self.content.iter_any():
            read += chunk
            if len(read) > _MOST_BYTES:
                raise ValueError(f"it has more than {_MOST_BYTES:,} bytes")
        return bytes(read)

    def get_encoding(self) -> str:
        return "utf-8"  # As JSON is; a server may name others that take long to decode.

    async def json(self, **named: Any) -> Any:
        body = await self.read()
        try:
            return await in_io_thread(_parsed, body) if len(body) > _LONG else _parsed(body)
        except (ValueError, RecursionError) as error:
            raise ClientError(f"its answer cannot be read: {error!s:.300}") from None


def _parsed(body: bytes) -> Any:
    message = json.loads(mended(body)) if body.strip() else None
    result = message.get("result") if isinstance(message, dict) else None
    if isinstance(result, dict):
        cut_parts(result)
        _check_texts(result.get("content"))
    return message


def _check_texts(content: Any) -> None:
    """Where there are several, the client reads each as JSON to see whether they are objects."""
    for part in content if isinstance(content, list) and len(content) > 1 else ():
        text = part.get("text") if isinstance(part, dict) else None
        if isinstance(text, str):
            check_guest_json(text.encode("utf-8", "replace"))
