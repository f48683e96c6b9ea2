"""`toolwright mcp serve`."""

import logging
from typing import Annotated

import anyio
from cyclopts import Parameter

from toolwright.cli import _exit as exits
from toolwright.cli._log import log_lines
from toolwright.cli._options import AgentOption, ModelOption, VerboseOption, refuse_empty
from toolwright.cli._out import note
from toolwright.cli._target import open_target
from toolwright.errors import UsageError
from toolwright.serve.mcp import McpServer, new_token, serve_http

__all__ = ["mcp_serve"]

_HOST, _PORT = "127.0.0.1", 8766
Host = Annotated[str | None, Parameter(help=f"With --http; {_HOST} if not given.")]
Port = Annotated[int | None, Parameter(help=f"With --http; {_PORT} if not given.")]
Http = Annotated[bool, Parameter(negative=(), help="Over HTTP instead of stdio.")]


def mcp_serve(
    agent: AgentOption = None,
    *,
    http: Http = False,
    host: Host = None,
    port: Port = None,
    model: ModelOption = None,
    verbose: VerboseOption = False,
) -> int:
    """Serve tools over MCP: those of an agent.yaml, or an agent, a tool or a toolset.

    What goes wrong meanwhile is a line on standard error.
    """
    refuse_empty({"--host": host})
    if not http and (host, port) != (None, None):
        raise UsageError("--host and --port are for a server over HTTP: add --http.")
    log_lines(logging.WARNING, verbose=verbose)
    served = McpServer(open_target(agent, model))
    if not http:
        anyio.run(served.run_stdio)
        return exits.DONE
    token = new_token()
    host, port = host or _HOST, _PORT if port is None else port

    def say(address: str) -> None:
        note(f"MCP at {address}\nAuthorization: Bearer {token}")

    anyio.run(lambda: serve_http(served, host=host, port=port, token=token, say=say))
    return exits.DONE
