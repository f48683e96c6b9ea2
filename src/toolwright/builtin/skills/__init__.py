"""Skills: folders of instructions, references and scripts that a model loads when it needs them."""

from toolwright.builtin.skills._frontmatter import SkillFrontmatter
from toolwright.builtin.skills._registry import SkillProblem, SkillRegistry
from toolwright.builtin.skills._skill import Skill
from toolwright.builtin.skills._toolset import SkillToolset

__all__ = ["Skill", "SkillFrontmatter", "SkillProblem", "SkillRegistry", "SkillToolset"]
