"""The file tools of a deep agent: absolute paths over any backend, answers with a status."""

from toolwright.builtin._seen import SeenVersions
from toolwright.builtin.files._backend import Backend, backend_for
from toolwright.builtin.files._change import ChangingTools
from toolwright.builtin.files._look import LookingTools
from toolwright.builtin.files._search import SearchingTools
from toolwright.builtin.files._status import with_status
from toolwright.tools import FunctionTool, MaxOutput, Tool

__all__ = ["file_tools"]

_GREP_OUTPUT = MaxOutput(bytes=400_000)
"""Above the tool's own limit of 80,000 characters, so that its answer is never cut twice."""


def file_tools(backend: Backend) -> list[Tool]:
    """`ls`, `read_file`, `write_file`, `edit_file`, `glob` and `grep` over one backend.

    Args:
        backend: Where the files are: a `Files` backend, or a function that is called with the
            context of each call and returns one, such as `lambda ctx: StateBackend(ctx.state)`.
    """
    files_for = backend_for(backend)
    seen = SeenVersions()
    looking = LookingTools(files_for, seen)
    changing = ChangingTools(files_for, seen)
    searching = SearchingTools(files_for)
    made = [
        FunctionTool(looking.ls, effects="read", idempotent=True),
        FunctionTool(looking.read_file, effects="read", idempotent=True),
        FunctionTool(changing.write_file),
        FunctionTool(changing.edit_file),
        FunctionTool(searching.glob, effects="read", idempotent=True),
        FunctionTool(searching.grep, effects="read", idempotent=True, max_output=_GREP_OUTPUT),
    ]
    return [with_status(tool) for tool in made]
