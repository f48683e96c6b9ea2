from toolwright import Agent, tool
from toolwright.testing import ScriptedModel, call


@tool
def read_file(path: str) -> str:
    """Read a file."""
    return "Dear Ada, …"


@tool
def delete_file(path: str) -> str:
    """Delete a file."""
    return "deleted"


model = ScriptedModel([call("read_file", path="a"), call("delete_file", path="a")], "Done.")
agent = Agent(
    name="clerk",
    model=model,
    tools=[read_file, delete_file],
    interrupt_on={"delete_file": True},
)
paused = agent.run_sync("Read and delete a")
print([pending.name for pending in paused.pending])
