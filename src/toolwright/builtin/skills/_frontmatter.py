"""What a skill says about itself: the fields between the `---` lines of its SKILL.md."""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from toolwright._sealed import sealed
from toolwright._settings import near_names
from toolwright.errors import UsageError
from toolwright.messages import jsonable

__all__ = ["SkillFrontmatter", "frontmatter_from"]

_NAME = re.compile(r"\w+(-\w+)*")
_LONGEST_NAME = 64
_LONGEST_DESCRIPTION = 1024
_LONGEST_COMPATIBILITY = 500
_MOST_FIELDS = 100
"""Each one that is not ours is compared with those that are, as it may be misspelled."""


@sealed
@dataclass(frozen=True, slots=True, kw_only=True)
class SkillFrontmatter:
    """The fields of the Agent Skills format; `UsageError` for what cannot be used."""

    name: str
    """Lower-case letters of any alphabet, digits, `-` and `_`; at most 64; the folder's name."""
    description: str
    """What the skill does and when to use it; at most 1024 characters are advised."""
    license: str | None = None
    compatibility: str | None = None
    """What the skill needs around it; at most 500 characters are advised."""
    metadata: dict[str, Any] = field(default_factory=dict)
    allowed_tools: tuple[str, ...] = ()
    """The tools it uses. Of a toolset's `additional_tools`, loading the skill unlocks these."""
    version: str | None = None
    extra: dict[str, Any] = field(default_factory=dict)
    """Fields that other programs put there."""

    def __post_init__(self) -> None:
        _check_name(self.name)
        _check_text("description", self.description)
        if self.compatibility is not None:
            _check_text("compatibility", self.compatibility)
        if self.license is not None:
            _check_text("license", self.license)

    @property
    def warnings(self) -> tuple[str, ...]:
        """The rules that it breaks although it can be used."""
        return tuple(
            f"{name!r} has {len(text)} characters; the format allows {longest}, "
            "and other programs may refuse the skill"
            for name, text, longest in (
                ("description", self.description, _LONGEST_DESCRIPTION),
                ("compatibility", self.compatibility or "", _LONGEST_COMPATIBILITY),
            )
            if len(text) > longest
        )


_FIELDS = tuple(f.name.replace("_", "-") for f in fields(SkillFrontmatter) if f.name != "extra")


def frontmatter_from(values: Mapping[Any, Any]) -> SkillFrontmatter:
    """The frontmatter with these values; `UsageError` names the first that is wrong."""
    if len(values) > _MOST_FIELDS:
        raise UsageError(f"there are {len(values)} fields; at most {_MOST_FIELDS} are read.")
    known = {key.replace("-", "_"): values[key] for key in _FIELDS if values.get(key) is not None}
    extra = {str(key): value for key, value in values.items() if key not in _FIELDS}
    for name in extra:
        _refuse_misspelled(name)
    for required in ("name", "description"):
        if required not in known:
            raise UsageError(f"{required!r} is missing; every skill has a name and a description.")
    if "metadata" in known and not isinstance(known["metadata"], dict):
        raise UsageError(f"'metadata' has to be a mapping; got {known['metadata']!r}.")
    for name in ("name", "description", "license", "compatibility"):
        if name in known and not isinstance(known[name], str):
            raise UsageError(f"{name!r} has to be text; got {known[name]!r}. Put it in quotes.")
    known["name"] = unicodedata.normalize("NFKC", known["name"])
    if "version" in known:
        known["version"] = str(known["version"])
    if "allowed_tools" in known:
        known["allowed_tools"] = _tool_names(known["allowed_tools"])
    return SkillFrontmatter(**known, extra=jsonable(extra))


def _check_name(name: str) -> None:
    _check_text("name", name, _LONGEST_NAME)
    if not _NAME.fullmatch(name) or name != name.lower():
        raise UsageError(
            f"'name' is {name!r}; use lower-case letters, digits and single hyphens between them, "
            "such as 'pdf-forms'."
        )


def _check_text(name: str, value: str, longest: int | None = None) -> None:
    if not value.strip():
        raise UsageError(f"{name!r} is empty.")
    if longest is not None and len(value) > longest:
        raise UsageError(f"{name!r} has {len(value)} characters; at most {longest} are allowed.")


def _refuse_misspelled(name: str) -> None:
    near = near_names(name.lower().replace("_", "-"), _FIELDS, cutoff=0.85)
    if near:
        raise UsageError(f"There is no field {name!r}; did you mean {near[0]!r}?")


def _tool_names(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        # Separated by spaces or commas, but not those in `Bash(git add:*)`. A bracket that nothing
        # closes goes to the end: else each one would be looked through to there again.
        return tuple(re.findall(r"[^\s,(]+(?:\([^)]*\)?)?", value))
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return tuple(value)
    raise UsageError(f"'allowed-tools' has to be tool names with spaces between; got {value!r}.")
