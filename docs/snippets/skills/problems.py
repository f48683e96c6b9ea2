from pathlib import Path

from toolwright import SkillRegistry

Path("skills/broken").mkdir(parents=True)
Path("skills/broken/SKILL.md").write_text("---\nname: broken\ndescription: Use: never\n---\n")
registry = SkillRegistry("skills")
for problem in registry.problems():
    print(problem.reason)
