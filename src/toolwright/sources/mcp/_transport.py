"""The ways to an MCP server, each as the pair of message streams that the SDK speaks through."""

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
import httpx2
import mcp_types as types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from toolwright._tls import certificates
from toolwright.backends.sandboxes import ServerSandbox
from toolwright.sources._child import Child, ChildCommand, LineTooLong, running_child
from toolwright.sources._measured import mended
from toolwright.sources.mcp._bounded import bounded
from toolwright.sources.mcp._params import (
    ConnectionParams,
    SseConnectionParams,
    StdioConnectionParams,
    StreamableHTTPConnectionParams,
)

__all__ = ["Way", "way_to"]

_log = logging.getLogger("toolwright.mcp")
Streams = tuple[MemoryObjectReceiveStream[Any], MemoryObjectSendStream[Any]]


@dataclass(slots=True)
class Way:
    """A transport, not yet entered, and what the server's stderr said last."""

    transport: AbstractAsyncContextManager[Any]
    last_words: Callable[[], str] = field(default=str)


def way_to(
    params: ConnectionParams,
    name: str,
    headers: dict[str, str],
    auth: httpx2.Auth | None,
    sandbox: ServerSandbox | None = None,
) -> Way:
    """The transport that `params` describe; `headers` and `auth` go to servers over HTTP."""
    match params:
        case StdioConnectionParams():
            return _stdio_way(params, name, sandbox)
        case StreamableHTTPConnectionParams():
            return Way(_over_http(params, headers, auth))
        case SseConnectionParams():
            factory = params.httpx_client_factory or _http_client
            return Way(
                sse_client(
                    params.url,
                    headers=headers,
                    timeout=params.timeout,
                    sse_read_timeout=params.sse_read_timeout,
                    httpx_client_factory=_bounding(factory, params.max_message),
                    auth=auth,
                )
            )


def _http_client(
    headers: dict[str, str] | None = None,
    timeout: httpx2.Timeout | None = None,
    auth: httpx2.Auth | None = None,
) -> httpx2.AsyncClient:
    """A client as the SDK makes them, but all with the same certificates."""
    timeout = timeout or httpx2.Timeout(30.0, read=300.0)
    return httpx2.AsyncClient(headers=headers, timeout=timeout, auth=auth, verify=certificates())


def _bounding(factory: Callable[..., Any], most: int) -> Any:
    return lambda *args, **settings: bounded(factory(*args, **settings), most)


@asynccontextmanager
async def _over_http(
    params: StreamableHTTPConnectionParams, headers: dict[str, str], auth: httpx2.Auth | None
) -> AsyncIterator[Any]:
    factory = params.httpx_client_factory or _http_client
    timeout = httpx2.Timeout(params.timeout, read=params.sse_read_timeout)
    async with (
        factory(headers=headers, timeout=timeout, auth=auth) as http,
        streamable_http_client(
            params.url,
            http_client=bounded(http, params.max_message),
            terminate_on_close=params.terminate_on_close,
            max_sse_event_size=None,  # Each is measured before.
        ) as streams,
    ):
        yield streams


def _stdio_way(params: StdioConnectionParams, name: str, sandbox: ServerSandbox | None) -> Way:
    server = params.server_params
    command = ChildCommand(
        command=server.command,
        args=tuple(server.args),
        env=dict(server.env or {}),
        cwd=server.cwd,
        name=name,
        max_line=params.max_line,
        sandbox=sandbox,
    )
    way = Way(transport=_over_stdio(command, lambda child: setattr(way, "last_words", child)))
    return way


@asynccontextmanager
async def _over_stdio(
    command: ChildCommand, tell: Callable[[Callable[[], str]], None]
) -> AsyncIterator[Streams]:
    """Our own rather than the SDK's, whose memory and patience with a rogue server have no bound."""
    async with running_child(command, _log) as child:
        tell(lambda: child.last_words)
        to_client, from_server = anyio.create_memory_object_stream[Any](0)
        to_server, from_client = anyio.create_memory_object_stream[Any](0)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_read, child, to_client, command.name)
            tasks.start_soon(_write, child, from_client, to_client)
            try:
                yield from_server, to_server
            finally:
                tasks.cancel_scope.cancel()
                for stream in (to_client, from_server, to_server, from_client):
                    stream.close()


async def _read(child: Child, to_client: MemoryObjectSendStream[Any], name: str) -> None:
    strays = 0
    with to_client:
        try:
            while (line := await child.line()) is not None:
                try:
                    message = _read_message(line)
                except ValidationError:
                    strays += 1
                    if strays <= 20 and line.strip():
                        _log.warning("%s wrote a line that is not MCP: %.200r", name, line[:200])
                    continue
                await to_client.send(SessionMessage(message))
        except LineTooLong as error:
            _log.error("%s wrote %s; it is stopped", name, error)
            to_client.close()
            await child.stop()
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            return  # The session has ended.


def _read_message(line: bytes) -> Any:
    try:
        return types.jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValidationError:
        return types.jsonrpc_message_adapter.validate_json(mended(line), by_name=False)


async def _write(
    child: Child,
    from_client: MemoryObjectReceiveStream[Any],
    to_client: MemoryObjectSendStream[Any],
) -> None:
    try:
        async for item in from_client:
            text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
            await child.send(text.encode())
    except (BrokenPipeError, anyio.ClosedResourceError):
        # The session sees the connection end instead of waiting for an answer.
        to_client.close()
