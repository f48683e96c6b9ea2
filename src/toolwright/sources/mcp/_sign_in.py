"""A tool that stands in for a server's tools until the user has signed in."""

import re

from toolwright.messages import AuthConfig, ToolSpec
from toolwright.tools import Args, Output, Tool, ToolContext, ask_to_sign_in, schema_parser

__all__ = ["sign_in_tool"]

_PARAMETERS = {"type": "object", "properties": {}, "additionalProperties": False}


def sign_in_tool(server: str, config: AuthConfig, source: str) -> Tool:
    """Asks for the user's credential; once it is there, the server's own tools are listed."""
    name = f"sign_in_to_{re.sub(r'[^A-Za-z0-9]+', '_', server).strip('_')}"[:64]

    async def run(args: Args, ctx: ToolContext) -> Output:
        flows = ctx.run.services.auth
        if ctx.auth_response is None and flows is not None:
            return ask_to_sign_in(ctx, config)
        return Output(text=f"The user is signed in; the tools of {server} can be used now.")

    return Tool(
        spec=ToolSpec(
            name=name,
            description=f"Let the user sign in to {server}; its tools can be used after that.",
            parameters=_PARAMETERS,
        ),
        parse=schema_parser(name, _PARAMETERS),
        run=run,
        sequential=True,
        effects="read",
        idempotent=True,
        placeholder=True,
        source=source,
    )
