from pathlib import Path

from toolwright import Agent, SkillRegistry, SkillToolset, tool
from toolwright.backends import LocalExecutor
from toolwright.testing import ScriptedModel, call

LIBRARY = Path(__file__).parent / "library"


@tool
def round_number(number: int) -> int:
    """Round to hundreds."""
    return round(number, -2)


skills = SkillToolset(
    registry=SkillRegistry(LIBRARY),
    code_executor=LocalExecutor(),  # in production, a sandbox
    additional_tools=[round_number],
)
Path("poem.txt").write_text("the harbour at night " * 300)
count = {"skill_name": "word-count", "script_path": "scripts/count.py", "args": ["poem.txt"]}
model = ScriptedModel(
    call("search_skills", query="how long is a text"),
    call("load_skill", skill_name="word-count"),
    call("run_skill_script", **count),
    call("round_number", number=1200),
    "It has about 1200 words.",
)
agent = Agent(name="editor", model=model, tools=[skills])
result = agent.run_sync("How long is poem.txt?")
print(result.text)
