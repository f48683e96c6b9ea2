"""How a Toolbox server is asked: its answers are measured before anybody reads them, as MCP servers' are."""

import json
import logging
from contextvars import ContextVar
from typing import Any

from toolwright.backends.sandboxes import check_guest_json
from toolwright.concurrency import in_io_thread
from toolwright.sources._counted import cut_parts
from toolwright.sources._measured import measured, mended
from toolwright.sources._secret_names import hide_secrets
from toolwright.sources._usable import MOST_TOOLS
from toolwright.tools import ToolContext

try:
    from aiohttp import (
        ClientError,
        ClientResponse,
        ClientSession,
        TraceConfig,
        TraceRequestStartParams,
    )
    from toolbox_core.mcp_transport import McpHttpTransportV20250618
    from toolbox_core.mcp_transport.v20250618.types import Tool
    from toolbox_core.protocol import Protocol, ToolSchema
    from toolbox_core.tool import ToolboxTool
except ImportError as error:
    raise ImportError("Toolbox needs an extra: pip install 'toolwright[toolbox]'") from error

__all__ = ["ASKING", "FAILURES", "measuring_session"]

_log = logging.getLogger("toolwright.sources")
_MOST_LOGGED = 20
_MOST_BYTES = 64 * 1024 * 1024
_LONG = 65536


ASKING: ContextVar[ToolContext | None] = ContextVar("asking", default=None)
"""Whose call it is that the server is asked for."""
FAILURES: ContextVar[list[Any] | None] = ContextVar("failures", default=None)
"""Where results go that say they are errors: the client hands on their text and not that."""


def measuring_session() -> ClientSession:
    """A session that follows no redirect, and refuses what is packed, too long or costly to read.

    The secrets that it sends stay out of what leaves the run of whoever asks.
    """
    trace = TraceConfig()
    trace.on_request_start.append(_hide)
    return ClientSession(
        trace_configs=[trace],
        # Packed, a few bytes could become any number.
        headers={"Accept-Encoding": "identity"},
        auto_decompress=False,
        response_class=_MeasuredResponse,
    )


async def _hide(session: ClientSession, about: Any, sent: TraceRequestStartParams) -> None:
    hide_secrets(ASKING.get(), sent.headers)


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
            message = await in_io_thread(_parsed, body) if len(body) > _LONG else _parsed(body)
        except (ValueError, RecursionError) as error:
            raise ClientError(f"its answer cannot be read: {error!s:.300}") from None
        result = message.get("result") if isinstance(message, dict) else None
        failures = FAILURES.get()
        if failures is not None and isinstance(result, dict) and result.get("isError") is True:
            failures.append(result)
        return message


def _parsed(body: bytes) -> Any:
    message = json.loads(mended(body)) if body.strip() else None
    result = message.get("result") if isinstance(message, dict) else None
    if isinstance(result, dict):
        cut_parts(result)
        _check_texts(result.get("content"))
        if isinstance(result.get("tools"), list):
            result["tools"] = _usable(result["tools"])
    return message


def _usable(tools: list[Any]) -> list[Any]:
    """Those of which the client can make a tool: it makes all or none."""
    unfit: list[str] = []
    usable: list[Any] = []
    for tool in tools[:MOST_TOOLS]:
        try:
            _try_to_make(tool)
            usable.append(tool)
        except Exception as error:  # noqa: BLE001 - whatever one is like, the others are of use
            name = tool.get("name") if isinstance(tool, dict) else tool
            unfit.append(f"{name!r:.100} ({type(error).__name__}: {error!s:.300})")
    for told in unfit[:_MOST_LOGGED]:
        _log.error("A tool of a Toolbox server is left out: %s", told)
    others = len(tools) - len(usable) - min(len(unfit), _MOST_LOGGED)
    if others:
        _log.error("%s more tools of a Toolbox server are left out.", f"{others:,}")
    return usable


def _try_to_make(tool: Any) -> None:
    """Read a tool as the client will, whichever version of the protocol is spoken."""
    read = Tool.model_validate(tool).model_dump(mode="json", by_alias=True) | tool
    versions = Protocol.get_supported_mcp_versions()
    for version in (versions[0], versions[-1]):  # They differ in where they say who must sign in.
        reader = object.__new__(McpHttpTransportV20250618)  # Without a session: it only reads.
        reader._protocol_version = version
        schema = reader._convert_tool_schema(read)
        ToolSchema.model_validate(schema.model_dump(exclude_unset=True))
        ToolboxTool(
            transport=reader,
            name=read["name"],
            description=schema.description,
            params=schema.parameters,
            required_authn_params={},
            required_authz_tokens=(),
            auth_service_token_getters={},
            bound_params={},
            client_headers={},
        )


def _check_texts(content: Any) -> None:
    """Where there are several, the client reads each as JSON to see whether they are objects."""
    for part in content if isinstance(content, list) and len(content) > 1 else ():
        text = part.get("text") if isinstance(part, dict) else None
        if isinstance(text, str):
            check_guest_json(text.encode("utf-8", "replace"))
