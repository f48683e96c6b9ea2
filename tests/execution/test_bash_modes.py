"""Options that take each other back: of two that are given, the program may heed only one."""

import os
import zlib
from collections.abc import Iterator
from itertools import product
from pathlib import Path

from tests.execution.jail import Jail

from toolwright.builtin.bash import BashToolPolicy
from toolwright.builtin.bash._grammar import Option, Program
from toolwright.builtin.bash.programs import all_programs

PACKERS = ("gzip", "gunzip", "bzip2", "bunzip2", "xz", "unxz", "zstd", "unzstd", "unzip")
NAMING = (
    "git branch",
    "git tag",
    "git notes",
    "git stash",
    "git symbolic-ref",
    "git config",
    "git describe",
)
"""Sub-commands of git that list or make something, which the options decide."""
FILES = "f f.gz f.bz2 f.xz f.zst a.zip"
READS = BashToolPolicy()


def lines() -> list[str]:
    """Two options of a packer in any order, and two of git with a name behind: those that are said to read."""
    made = [
        f"{name} {one} {two} {FILES}"
        for name in PACKERS
        for one, two in _pairs(all_programs()[name])
    ]
    git = all_programs()["git"].commands
    for name in NAMING:
        pairs = _pairs(git[name.split()[1]])
        made += [f"{name} {one} {two} new" for one, two in pairs]
    return sorted({line for line in made if _is_chosen(line) and READS.check(line).read_only})


def _pairs(program: Program) -> Iterator[tuple[str, str]]:
    written = [
        text for name, option in program.options.items() for text in _written(program, name, option)
    ]
    return product(written, written)


def _written(program: Program, name: str, option: Option) -> Iterator[str]:
    if option.value == "none":
        yield name
    elif option.value != "attached":
        yield f"{name}=HEAD" if name.startswith("--") else f"{name}-1"
    if program.negates and name.startswith("--"):
        yield f"--no-{name[2:]}"


def _is_chosen(line: str) -> bool:
    whole = "TOOLWRIGHT_WHOLE_TABLE" in os.environ
    return whole or zlib.crc32(line.encode()) % 48 == 0


def test_no_two_options_that_are_said_to_read_write_together(tmp_path: Path) -> None:
    jail = Jail(tmp_path, {"git", *PACKERS})
    before = jail.content()
    chosen = lines()
    assert len(chosen) > 60
    jail.errors([READS.check(line).checked for line in chosen])
    assert jail.content() == before, chosen
