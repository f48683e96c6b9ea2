"""The tools of a working directory: read, write, edit, bash, grep, find, ls."""

import os

from toolwright.backends.executors import Executor
from toolwright.backends.files import FilesystemBackend
from toolwright.builtin._seen import SeenVersions
from toolwright.builtin.shell import BestExecutor, OutputFolder, bash_tool
from toolwright.builtin.workspace._errors import with_explained_errors
from toolwright.builtin.workspace._look import LookTools
from toolwright.builtin.workspace._paths import WorkspacePaths
from toolwright.builtin.workspace._read import PAGE_AND_NOTE, ReadTool
from toolwright.builtin.workspace._write import WriteTools
from toolwright.tools import FunctionTool, Tool

__all__ = ["workspace_tools"]


def workspace_tools(
    work_dir: str | os.PathLike[str] = ".", *, executor: Executor | None = None
) -> list[Tool]:
    """`read`, `write`, `edit`, `bash`, `grep`, `find` and `ls` in one directory.

    The file tools are confined to it. `bash` runs on `executor`, by default in the best sandbox that
    works here; where none does, or on a `LocalExecutor`, it has the rights of this program.
    """
    files = FilesystemBackend(work_dir)
    paths = WorkspacePaths(work_dir)
    seen = SeenVersions()
    outputs = OutputFolder()
    reading = ReadTool(files, paths, seen, outputs)
    writing = WriteTools(files, paths, seen)
    looking = LookTools(files, paths)
    made = [
        FunctionTool(reading.read, effects="read", idempotent=True, max_output=PAGE_AND_NOTE),
        FunctionTool(writing.write),
        FunctionTool(writing.edit),
        FunctionTool(looking.grep, effects="read", idempotent=True),
        FunctionTool(looking.find, effects="read", idempotent=True),
        FunctionTool(looking.ls, effects="read", idempotent=True),
    ]
    shell = bash_tool(executor or BestExecutor(files.root), outputs)
    explained = [with_explained_errors(tool) for tool in made]
    return [*explained[:3], shell, *explained[3:]]
