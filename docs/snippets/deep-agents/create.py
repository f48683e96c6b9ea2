"""A deep agent plans, keeps files and delegates."""

from toolwright import Agent
from toolwright.kits import SubAgentSpec, create_deep_agent
from toolwright.testing import ScriptedModel, call


def count_words(text: str) -> int:
    """Count the words of a text."""
    return len(text.split())


counter = SubAgentSpec(
    name="counter",
    description="Counts words.",
    system_prompt="Count, and report the number only.",
    tools=[count_words],
    model=ScriptedModel(call("count_words", text="bees dance at noon"), "4"),
)
proofreader = Agent(name="proofreader", description="Finds mistakes.", model=ScriptedModel("None."))

model = ScriptedModel(
    call("write_todos", todos=[{"content": "Write about bees", "status": "in_progress"}]),
    call("write_file", file_path="/bees.md", content="bees dance at noon\n"),
    [
        call("task", agent="counter", description="Count the words of: bees dance at noon"),
        call("task", agent="proofreader", description="Check: bees dance at noon"),
    ],
    "Four words, no mistakes.",
)
agent = create_deep_agent(
    name="author",
    model=model,
    instructions="You write short texts.",
    subagents=[counter, proofreader],
)
result = agent.run_sync("Write about bees")
print(result.text, list(result.state["files"]))
