"""Move big results to files, so that they do not fill the conversation."""

import logging
from collections.abc import Callable
from dataclasses import replace

from toolwright.backends.files import Files
from toolwright.tools import Args, Output, Tool, ToolContext

__all__ = ["with_results_in_files"]

logger = logging.getLogger("toolwright")
_DIRECTORY = "/large_results"
_SHOWN = 2000


def with_results_in_files(tool: Tool, files: Callable[[ToolContext], Files], limit: int) -> Tool:
    """Write outputs of more than `limit` characters to a file and show the model where it is."""

    async def run(args: Args, ctx: ToolContext) -> Output:
        output = await tool.run(args, ctx)
        if output.status not in ("ok", "error") or len(output.text) <= limit:
            return output
        # With the ids of the calls around it: those of two sub-agents' calls may be the same.
        path = f"{_DIRECTORY}/{ctx.function_call_id.replace('/', '-')}.txt"
        try:
            await files(ctx).write(path, output.text.encode("utf-8", "replace"))
        except Exception as error:  # noqa: BLE001 - whatever a backend raises, the tool has run
            # Its result must not be lost because of that; the agent bounds it as any other.
            logger.warning("The result of %r could not be kept in %s: %s", tool.name, path, error)
            return output
        note = (
            f"{output.text[:_SHOWN]}\n[… {len(output.text):,} characters in all, kept in {path}; "
            "read it with read_file or search it with grep.]"
        )
        return replace(output, text=note)

    return tool.replace(run=run)
