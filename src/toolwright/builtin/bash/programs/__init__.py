"""The table of programs: what is known about each, one file per family."""

import re
from functools import cache

from toolwright.builtin.bash._grammar import Program
from toolwright.builtin.bash.programs import (
    _archives,
    _build_tools,
    _builtins,
    _coreutils_reading,
    _coreutils_writing,
    _git,
    _interpreters,
    _network,
    _system,
    _text_tools,
)

__all__ = ["all_programs", "known_program"]

_FAMILIES = (
    _archives, _build_tools, _builtins, _coreutils_reading, _coreutils_writing, _git, _interpreters,
    _network, _system, _text_tools,
)  # fmt: skip
_PLACES = re.compile(r"/(usr/|usr/local/|opt/homebrew/)?s?bin/")
# Where it would only begin within one that was tried already, it is not tried again.
_VERSION = re.compile(r"(?:-|(?<!\d)\.|(?<![\d.-]))\d++(?:\.\d++)*+$")


@cache
def all_programs() -> dict[str, Program]:
    """Every program that is known, by its name."""
    return {one.name: one for family in _FAMILIES for one in family.PROGRAMS}


def known_program(word: str) -> Program | None:
    """The program that a word names: by itself, or in one of the system's directories."""
    name = _PLACES.sub("", word, count=1) if _PLACES.match(word) else word
    known = all_programs().get(name)
    if known is None and "/" not in name:
        unversioned = all_programs().get(_VERSION.sub("", name))
        return unversioned if unversioned is not None and unversioned.base == "code" else None
    return known
