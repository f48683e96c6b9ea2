"""A server of the newest protocol version, made with the SDK, that gets another tool when asked."""

from mcp.server import MCPServer
from mcp.server.mcpserver import Context

server = MCPServer("growing")


def grown() -> str:
    """Was not here before."""
    return "new"


@server.tool()
async def grow(ctx: Context) -> str:
    """Get another tool."""
    server.add_tool(grown)
    await ctx.notify_tools_changed()
    return "grown"


if __name__ == "__main__":
    server.run("stdio")
