"""Answer with a dict that has a status, also when something went wrong."""

from typing import Any

from pydantic_core import to_json

from toolwright.backends.files import FileChanged
from toolwright.builtin._file_errors import explain
from toolwright.errors import ToolError
from toolwright.tools import Args, Output, Tool, ToolContext

__all__ = ["with_status"]


def with_status(tool: Tool) -> Tool:
    """Turn the tool's failures into `{"status": "error", "message": …}`."""

    async def run(args: Args, ctx: ToolContext) -> Output:
        try:
            return await tool.run(args, ctx)
        except (OSError, FileChanged) as error:
            path = args.get("file_path") or args.get("path") or "/"
            return _failed(f"Error: {explain(error, path)}")
        except ToolError as error:
            return _failed(str(error))

    return tool.replace(run=run)


def _failed(message: str) -> Output:
    answer: dict[str, Any] = {"status": "error", "message": message}
    return Output(text=to_json(answer).decode(), value=answer, status="error")
