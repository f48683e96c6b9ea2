"""A skill: instructions for a kind of work, with the files that go with them."""

import hashlib
import logging
import os
import unicodedata
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from toolwright._sealed import sealed
from toolwright.backends.files import open_file
from toolwright.builtin.skills._frontmatter import SkillFrontmatter, frontmatter_from
from toolwright.errors import ToolError, UsageError

__all__ = ["Skill"]

_log = logging.getLogger("toolwright.skills")

_LARGEST_MARKDOWN = 1024 * 1024
_LARGEST_FILE = 10 * 1024 * 1024
_MOST_FILES = 1000
_MOST_BYTES = 50 * 1024 * 1024


@sealed
@dataclass(frozen=True, kw_only=True)
class Skill:
    """A skill, made in the program or read with `Skill.from_directory`."""

    name: str
    frontmatter: SkillFrontmatter
    instructions: str
    resources: Mapping[str, str | bytes] = field(default_factory=dict, repr=False)
    """Files by path, such as `references/api.md`; used when there is no `directory`."""
    directory: Path | None = None
    """Where its files are; they are read when they are asked for."""

    def __post_init__(self) -> None:
        if self.name != self.frontmatter.name:
            raise UsageError(
                f"Skill {self.name!r} has the name {self.frontmatter.name!r} in its frontmatter; "
                "the two have to be the same."
            )

    @classmethod
    def from_directory(cls, path: str | Path) -> "Skill":
        """Read the skill in a folder; `UsageError` names the file and what is wrong with it."""
        from toolwright.builtin.skills._markdown import split_skill  # noqa: PLC0415  optional

        directory = Path(path).absolute()
        file = directory / "SKILL.md"
        try:
            fields, instructions = split_skill(_read_markdown(file))
            frontmatter = frontmatter_from(fields)
        except UsageError as error:
            raise UsageError(f"{file}: {error}") from error
        skill = cls(
            name=frontmatter.name,
            frontmatter=frontmatter,
            instructions=instructions,
            directory=directory,
        )
        for warning in skill.warnings:
            _log.warning("%s: %s.", file, warning)
        return skill

    @property
    def warnings(self) -> tuple[str, ...]:
        """The rules of the format that it breaks although it can be used."""
        if self.directory is None or _is_named(self.directory, self.name):
            return self.frontmatter.warnings
        folder = self.directory.name
        told = f"its name is {self.name!r}, but its folder is {folder!r}; rename one"
        return (*self.frontmatter.warnings, told)

    @property
    def description(self) -> str:
        """What it does and when to use it."""
        return self.frontmatter.description

    def files(self) -> list[str]:
        """The paths of its files, SKILL.md left out, sorted; links are not followed."""
        if self.directory is None:
            return sorted(self.resources)
        found: list[str] = []
        for folder, folders, names in os.walk(self.directory):
            folders[:] = sorted(name for name in folders if not _is_hidden(name))
            within = Path(folder).relative_to(self.directory)
            found.extend(
                (within / name).as_posix()
                for name in names
                if not (_is_hidden(name) or os.path.islink(os.path.join(folder, name)))
            )
            if len(found) > _MOST_FILES:
                break
        return sorted(path for path in found if path != "SKILL.md")[:_MOST_FILES]

    def read(self, path: str) -> bytes:
        """One of its files; `ToolError` when there is none, or when the path leads outside."""
        path = _inside(path)
        if self.directory is None:
            return self._from_memory(path)
        try:
            with open_file(str(self.directory), path) as descriptor:
                if os.fstat(descriptor).st_size > _LARGEST_FILE:
                    raise ToolError(f"{path!r} is larger than {_LARGEST_FILE} bytes.")
                with os.fdopen(os.dup(descriptor), "rb") as file:
                    return file.read()
        except (OSError, ValueError) as error:
            raise ToolError(self._no_such_file(path)) from error

    def contents(self) -> dict[str, bytes]:
        """All its files; those that cannot be read are left out, `ToolError` when it is too much."""
        found: dict[str, bytes] = {}
        size = 0
        for path in self.files():
            with suppress(ToolError):
                found[path] = self.read(path)
                size += len(found[path])
            if size > _MOST_BYTES:
                raise ToolError(f"Skill {self.name!r} has more than {_MOST_BYTES} bytes of files.")
        return found

    def digests(self, contents: Mapping[str, bytes] | None = None) -> dict[str, str]:
        """A digest of each of its files, and of its instructions with their front matter.

        Args:
            contents: Its files, if they have been read; else they are now.
        """
        told = f"{self.frontmatter!r}\n{self.instructions}".encode()
        files = self.contents() if contents is None else contents
        found = {path: hashlib.sha256(data).hexdigest() for path, data in files.items()}
        return {"SKILL.md": hashlib.sha256(told).hexdigest(), **found}

    def _from_memory(self, path: str) -> bytes:
        content = self.resources.get(path)
        if content is None:
            raise ToolError(self._no_such_file(path))
        return content.encode() if isinstance(content, str) else content

    def _no_such_file(self, path: str) -> str:
        known = ", ".join(self.files()[:50]) or "none"
        return f"Skill {self.name!r} has no file {path!r}. Its files: {known}."


def _read_markdown(file: Path) -> str:
    try:
        with open_file(str(file.parent), file.name) as descriptor:
            if os.fstat(descriptor).st_size > _LARGEST_MARKDOWN:
                raise UsageError(f"it is larger than {_LARGEST_MARKDOWN} bytes.")
            with os.fdopen(os.dup(descriptor), encoding="utf-8-sig") as opened:
                return opened.read()
    except FileNotFoundError as error:
        raise UsageError(
            "there is no such file; a skill is a folder with a SKILL.md. A folder of skills is read "
            "with SkillToolset(registry=SkillRegistry(…))."
        ) from error
    except OSError as error:
        raise UsageError(f"it cannot be read: {error.strerror or error}.") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"it is not UTF-8 text (byte {error.start}).") from error


def _is_named(directory: Path, name: str) -> bool:
    # Some file systems store accented letters in two pieces.
    return name == unicodedata.normalize("NFKC", directory.name)


def _inside(path: str) -> str:
    parts = PurePosixPath(path.replace("\\", "/")).parts
    if not parts or path.startswith(("/", "~")) or ".." in parts or "\0" in path:
        raise ToolError(f"{path!r} is not a path inside a skill, such as 'references/guide.md'.")
    return "/".join(parts)


def _is_hidden(name: str) -> bool:
    return name.startswith(".") or name in ("__pycache__", "node_modules")
