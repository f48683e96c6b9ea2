"""A skill that is made in memory, and the same skill read from a folder."""

import asyncio
import tempfile
from pathlib import Path

from toolwright import Agent, Result, Skill, SkillFrontmatter, SkillToolset
from toolwright.messages import ToolCall
from toolwright.testing import ScriptedModel, call

INSTRUCTIONS = """\
# Python helper

1. Understand the question.
2. Give a short example that runs.
3. Explain it in a sentence.
"""


def in_memory() -> Skill:
    """The skill, without any file."""
    about = SkillFrontmatter(
        name="python_helper",
        description="Helps to write and explain Python code.",
        version="1.0.0",
    )
    return Skill(name="python_helper", frontmatter=about, instructions=INSTRUCTIONS)


def from_folder(base: Path) -> Skill:
    """The same skill as people keep and share them."""
    folder = base / "python-helper"
    (folder / "references").mkdir(parents=True)
    head = "---\nname: python-helper\ndescription: Helps to write Python code.\n---\n"
    (folder / "SKILL.md").write_text(head + INSTRUCTIONS)
    (folder / "references" / "style.md").write_text("Short functions.\n")
    return Skill.from_directory(folder)


async def use(skill: Skill, *calls: ToolCall) -> Result:
    """An agent that reads the skill before it answers."""
    model = ScriptedModel(calls, "print('hello')")
    toolset = SkillToolset(skills=[skill])
    agent = Agent(name="coder", model=model, instructions="You know skills.", tools=[toolset])
    return await agent.run("Say hello in Python")


def main() -> list[Result]:
    """Both skills."""
    with tempfile.TemporaryDirectory() as folder:
        skill = from_folder(Path(folder))
        kept = use(
            skill,
            call("load_skill", skill_name=skill.name),
            call("load_skill_resource", skill_name=skill.name, file_path="references/style.md"),
        )
        made = use(in_memory(), call("list_skills"), call("load_skill", skill_name="python_helper"))
        results = [asyncio.run(made), asyncio.run(kept)]
    print([result.text for result in results])
    return results


if __name__ == "__main__":
    main()
