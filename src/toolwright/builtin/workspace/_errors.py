"""Tell the model of a file's trouble as a sentence."""

from toolwright.backends.files import FileChanged
from toolwright.builtin._file_errors import explain
from toolwright.errors import ToolError
from toolwright.tools import Args, Output, Tool, ToolContext

__all__ = ["with_explained_errors"]


def with_explained_errors(tool: Tool) -> Tool:
    """Turn errors of the file system into a `ToolError` that names the path as it was given."""

    async def run(args: Args, ctx: ToolContext) -> Output:
        try:
            return await tool.run(args, ctx)
        except (OSError, FileChanged) as error:
            said = explain(error, args.get("path") or ".")
            raise ToolError(said[:1].upper() + said[1:]) from error

    return tool.replace(run=run)
