"""The workshop's own tools, beside the ready-made ones."""

from html import escape
from pathlib import Path

import anyio

from toolwright import BlobPart, Tool, ToolContext, deferred_tool, tool
from toolwright.backends.executors import Executor
from toolwright.builtin import get_user_choice, todo_tools, workspace_tools

__all__ = ["workshop_tools"]


def workshop_tools(folder: Path, shell: Executor | None) -> list[Tool]:
    """Files, a shell where there is one, a plan, a person to ask, a release, a supplier, a painter."""

    @tool(require_confirmation=True, effects="destructive")
    async def release(version: str, notes: str = "") -> str:
        """Release the project under a version; this cannot be taken back.

        Args:
            version: The version, such as 1.2.3.
            notes: What is new, in a sentence.
        """
        line = f"- {version}: {notes or 'no notes'}\n"
        await anyio.to_thread.run_sync(_append, folder / "RELEASES.md", line)
        return f"Released {version}."

    return [
        *(t for t in workspace_tools(folder, executor=shell) if shell or t.name != "bash"),
        *todo_tools(),
        get_user_choice,
        release,
        ask_supplier,
        draw_sign,
    ]


def _append(path: Path, line: str) -> None:
    with path.open("a") as file:
        file.write(line)


@deferred_tool(timeout=7 * 24 * 3600)
async def ask_supplier(item: str) -> None:
    """Ask the supplier what something costs; the answer comes later.

    Args:
        item: What to ask about.
    """


@tool
async def draw_sign(text: str, colour: str, tool_context: ToolContext) -> BlobPart:
    """Draw a sign and keep it as an artifact.

    Args:
        text: What it says.
        colour: A CSS colour name.
    """
    for step in ("cutting the board", "painting it", "letting it dry"):
        tool_context.progress(step)
        await anyio.sleep(0.4)
    svg = f"""<svg xmlns="http://www.w3.org/2000/svg" width="480" height="160">
<rect width="480" height="160" rx="16" fill="{escape(colour, quote=True)}"/>
<rect x="10" y="10" width="460" height="140" rx="10" fill="none" stroke="#fff" stroke-width="3"/>
<text x="240" y="96" font-size="46" font-family="Georgia, serif" text-anchor="middle" fill="#fff">
{escape(text)}</text></svg>"""
    sign = BlobPart(media_type="image/svg+xml", data=svg.encode(), name="sign.svg")
    await tool_context.save_artifact("sign.svg", sign)
    return sign
