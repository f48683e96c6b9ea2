"""Skills found in directories, kept up to date, and searched."""

import os
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from toolwright._sealed import Sealed
from toolwright.builtin.skills._skill import Skill
from toolwright.errors import UsageError
from toolwright.tools import Ranking

__all__ = ["SkillProblem", "SkillRegistry"]

_DEEPEST = 4
_INDEXED_CHARACTERS = 2000

Stamp = tuple[int, int]
"""When a SKILL.md was changed, and its size."""


@dataclass(frozen=True, slots=True)
class SkillProblem:
    """A folder whose skill was refused, and why."""

    directory: Path
    reason: str


class SkillRegistry(Sealed):
    """The skills in some directories, down to four folders deep.

    A skill that breaks the rules is left out and told in `problems`; of two with the same name,
    the one in the earlier directory counts. Each look at the skills notices what has changed.
    Safe to use from several threads.
    """

    def __init__(self, *directories: str | Path) -> None:
        if not directories:
            raise UsageError("SkillRegistry needs at least one directory to look in.")
        self.directories = tuple(Path(directory).absolute() for directory in directories)
        for directory in self.directories:
            if not directory.is_dir():
                raise UsageError(f"{str(directory)!r} is not a directory with skills in it.")
        self._lock = threading.Lock()
        self._stamps: dict[Path, Stamp] = {}
        self._read: dict[Path, Skill | SkillProblem] = {}
        self._skills: dict[str, Skill] = {}
        self._problems: list[SkillProblem] = []
        self._ranking: Ranking | None = None

    def skills(self) -> dict[str, Skill]:
        """The skills by name."""
        with self._lock:
            self._refresh()
            return self._skills

    def problems(self) -> list[SkillProblem]:
        """The skills that were refused, each with its reason."""
        with self._lock:
            self._refresh()
            return self._problems

    def search(self, query: str, limit: int = 10) -> list[Skill]:
        """The skills that fit `query`, best first."""
        with self._lock:
            self._refresh()
            skills = list(self._skills.values())
            if self._ranking is None:
                self._ranking = Ranking((skill.name, _indexed(skill)) for skill in skills)
            return [skills[number] for number in self._ranking.search(query)[:limit]]

    def _refresh(self) -> None:
        stamps = dict(self._found())
        if stamps == self._stamps:
            return
        same = {folder for folder in stamps if stamps[folder] == self._stamps.get(folder)}
        self._read = {f: self._read[f] if f in same else _load(f) for f in stamps}
        self._stamps = stamps
        self._ranking = None
        self._skills, self._problems = _sorted_out(self._read)

    def _found(self) -> Iterator[tuple[Path, Stamp]]:
        for directory in self.directories:
            for folder, folders, names in os.walk(directory):
                depth = len(Path(folder).relative_to(directory).parts)
                if "SKILL.md" in names:
                    # It may be gone by now; the next look finds out what is there then.
                    with suppress(OSError):
                        status = (Path(folder) / "SKILL.md").lstat()
                        yield Path(folder), (status.st_mtime_ns, status.st_size)
                is_leaf = "SKILL.md" in names or depth >= _DEEPEST
                folders[:] = [] if is_leaf else sorted(n for n in folders if not n.startswith("."))


def _load(folder: Path) -> Skill | SkillProblem:
    try:
        return Skill.from_directory(folder)
    except UsageError as error:
        return SkillProblem(folder, str(error))


def _sorted_out(
    read: dict[Path, Skill | SkillProblem],
) -> tuple[dict[str, Skill], list[SkillProblem]]:
    skills: dict[str, Skill] = {}
    problems: list[SkillProblem] = []
    for folder, outcome in read.items():
        if isinstance(outcome, SkillProblem):
            problems.append(outcome)
        elif outcome.name in skills:
            reason = f"{folder}: the skill in {skills[outcome.name].directory} has the same name."
            problems.append(SkillProblem(folder, reason))
        else:
            skills[outcome.name] = outcome
    return skills, problems


def _indexed(skill: Skill) -> str:
    tags = skill.frontmatter.extra.get("tags") or skill.frontmatter.metadata.get("tags") or ""
    return f"{skill.description} {tags} {skill.instructions}"[:_INDEXED_CHARACTERS]
