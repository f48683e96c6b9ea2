"""A function tool that looks at a folder and remembers in the state which one it was."""

import tempfile
from pathlib import Path
from typing import Any

from toolwright import Agent, FunctionTool, Result, ToolContext
from toolwright.testing import ScriptedModel, call


def list_files(folder: str, tool_context: ToolContext) -> dict[str, Any]:
    """List the files in a folder.

    Args:
        folder: The folder's path.
    """
    tool_context.state["last_listed"] = folder
    names = sorted(path.name for path in Path(folder).iterdir())
    return {"files": names, "count": len(names)}


def main() -> Result:
    """In a temporary folder with two files."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("a.txt", "b.txt"):
            (Path(folder) / name).touch()
        model = ScriptedModel(call("list_files", folder=folder), "Two files.")
        listing = FunctionTool(list_files, require_confirmation=False, effects="read")
        result = Agent(name="clerk", model=model, tools=[listing]).run_sync("What is in there?")
    print(result.text)
    return result


if __name__ == "__main__":
    main()
