"""A tool with which the model reads a server's resources."""

from collections.abc import Awaitable, Callable, Sequence

import mcp_types as types

from toolwright.messages import TextPart, ToolSpec
from toolwright.sources._usable import LONGEST_DESCRIPTION
from toolwright.sources.mcp._content import passed_on, resource_part
from toolwright.sources.mcp._link import Link
from toolwright.tools import Args, Output, ReadonlyContext, Tool, ToolContext, schema_parser

__all__ = ["LOAD_RESOURCE", "is_resource_tool", "read_resource", "resource_tool"]

LOAD_RESOURCE = "load_mcp_resource"

_LISTED = 100
"""Resources named in the description; a model can still read others by their URI."""
_LONGEST_LINE = 1000
_PARAMETERS = {
    "type": "object",
    "properties": {"uri": {"type": "string", "description": "The URI of a resource."}},
    "required": ["uri"],
    "additionalProperties": False,
}


def resource_tool(
    resources: Sequence[types.Resource],
    templates: Sequence[types.ResourceTemplate],
    link_for: Callable[[ReadonlyContext | None], Awaitable[Link]],
    source: str,
) -> Tool:
    """`load_mcp_resource`, which tells the model what there is to read."""
    known = [_line(r.uri, r.title or r.name, r.description) for r in resources]
    known += [_line(t.uri_template, t.title or t.name, t.description) for t in templates]
    if len(known) > _LISTED:
        known = [*known[:_LISTED], f"… and {len(known) - _LISTED} more"]
    listing = "\n".join(known) or "(the server lists none)"

    async def run(args: Args, ctx: ToolContext) -> Output:
        return await read_resource(await link_for(ctx), args["uri"], source)

    return Tool(
        spec=ToolSpec(
            name=LOAD_RESOURCE,
            description=f"Read a resource by its URI. Resources:\n{listing}"[:LONGEST_DESCRIPTION],
            parameters=_PARAMETERS,
        ),
        parse=schema_parser(LOAD_RESOURCE, _PARAMETERS),
        run=run,
        effects="read",
        idempotent=True,
        source=source,
    )


def is_resource_tool(tool: Tool) -> bool:
    """Whether it is this one, and not one of the server's that has its name."""
    return (tool.original or tool).spec.parameters is _PARAMETERS


async def read_resource(link: Link, uri: str, source: str) -> Output:
    """The contents of one resource, its parts marked as from `source`."""
    result = await link.ask(link.client.read_resource(uri), f"{uri!r} was read")
    parts = tuple(passed_on(resource_part(contents), source) for contents in result.contents)
    if all(isinstance(part, TextPart) for part in parts):
        return Output(text="\n".join(part.text for part in parts if isinstance(part, TextPart)))
    return Output(parts=parts)


def _line(uri: str, name: str, description: str | None) -> str:
    told = f"- {uri[:_LONGEST_LINE]} ({name[:200]}){f': {description}' if description else ''}"
    # One line, whatever it says: with others it could name resources that there are not.
    return " ".join("".join(c if c.isprintable() else " " for c in told[:_LONGEST_LINE]).split())
