from pathlib import Path

from toolwright import (
    Agent,
    CompositeBackend,
    FilesystemBackend,
    Runner,
    StateBackend,
    StoreBackend,
    ToolContext,
    file_tools,
)
from toolwright.testing import ScriptedModel, call

Path("docs").mkdir()
Path("docs/style.md").write_text("Short sentences.\n")
shared = StoreBackend("sqlite:///memories.db")


def files_for(ctx: ToolContext) -> CompositeBackend:
    """Drafts live with the session, memories with the user, and the docs are on disk."""
    return CompositeBackend(
        default=StateBackend(ctx.state),
        routes={
            "/memories/": shared.scoped(ctx.user_id),
            "/docs/": FilesystemBackend("docs"),
        },
    )


model = ScriptedModel(
    call("read_file", file_path="/docs/style.md"),
    call("write_file", file_path="/draft.md", content="It rains.\n"),
    call("write_file", file_path="/memories/taste.md", content="Ada likes short sentences.\n"),
    call("grep", pattern="short", output_mode="content"),
    "Written.",
)
agent = Agent(name="writer", model=model, tools=file_tools(files_for))
result = Runner(agent).run_sync("Write about the weather", user_id="ada")
