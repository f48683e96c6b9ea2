from toolwright import Agent, Skill, SkillFrontmatter, SkillToolset
from toolwright.testing import ScriptedModel, call

python_skill = Skill(
    name="python_helper",
    frontmatter=SkillFrontmatter(
        name="python_helper",
        description="Helps to write and explain Python.",
        version="1.0.0",
    ),
    instructions="# Python\n\n1. Understand the question.\n2. Show a short program that runs.",
    resources={"references/style.md": "Short functions."},
)
model = ScriptedModel(
    call("list_skills"), call("load_skill", skill_name="python_helper"), "print('hello')"
)
agent = Agent(name="coder", model=model, tools=[SkillToolset(skills=[python_skill])])
result = agent.run_sync("Say hello in Python")
