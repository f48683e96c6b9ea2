"""`toolwright mcp serve`."""

from typing import Annotated

import anyio
from cyclopts import Parameter

from toolwright.cli import _exit as exits
from toolwright.cli._options import AgentOption, ModelOption
from toolwright.cli._out import note
from toolwright.cli._target import open_target
from toolwright.serve.mcp import McpServer, new_token, serve_http

__all__ = ["mcp_serve"]

Http = Annotated[bool, Parameter(negative=(), help="Over HTTP instead of stdio.")]


def mcp_serve(
    agent: AgentOption = None,
    *,
    http: Http = False,
    host: str = "127.0.0.1",
    port: int = 8766,
    model: ModelOption = None,
) -> int:
    """Serve tools over MCP: those of an agent.yaml, or an agent, a tool or a toolset."""
    served = McpServer(open_target(agent, model))
    if not http:
        anyio.run(served.run_stdio)
        return exits.DONE
    token = new_token()
    note(f"MCP at http://{host}:{port}/mcp\nAuthorization: Bearer {token}")
    anyio.run(lambda: serve_http(served, host=host, port=port, token=token))
    return exits.DONE
