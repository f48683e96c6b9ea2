"""The tool with which a model reads the files saved in its session."""

from toolwright.builtin._readable import readable
from toolwright.errors import ToolError
from toolwright.messages import Content
from toolwright.tools import Output, ToolContext, tool

__all__ = ["load_artifacts"]


@tool(effects="read", idempotent=True)
async def load_artifacts(
    tool_context: ToolContext, artifact_names: list[str] | None = None
) -> Output:
    """Read files that were saved in this session or for this user.

    Call it without names to see which files there are.

    Args:
        artifact_names: The names of the files to read; names that start with `user:` belong to
            the user rather than to this session.
    """
    if not artifact_names:
        return Output(text=_listing(await tool_context.list_artifacts()))
    parts: list[Content] = []
    for name in dict.fromkeys(artifact_names):
        parts.extend(await _load(tool_context, name))
    return Output(parts=tuple(parts))


async def _load(ctx: ToolContext, name: str) -> tuple[Content, ...]:
    found = await ctx.load_artifact(name)
    if found is None:
        raise ToolError(f"There is no artifact {name!r}. {_listing(await ctx.list_artifacts())}")
    return readable(name, found.media_type, found.data or b"")


def _listing(names: list[str]) -> str:
    return "Artifacts: " + ", ".join(map(repr, names)) if names else "There are no artifacts yet."
