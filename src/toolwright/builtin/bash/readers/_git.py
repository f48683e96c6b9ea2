"""Read a git command: its own options, then those of the sub-command."""

from collections.abc import Sequence

from toolwright.builtin.bash._grammar import Program, Reader, Reading, Use
from toolwright.builtin.bash._reading import read_words
from toolwright.builtin.bash._words import NotCovered, Word

__all__ = [
    "git_command",
    "lists_unless_named",
    "read_config",
    "read_git",
    "read_nested",
    "writes_when_given",
]

_GLOBAL = ("--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs", "--version", "-v")


def git_command(words: Sequence[Word]) -> tuple[int, Word | None]:
    """Where the sub-command stands, and the directory that `-C` names."""
    position, directory = 1, None
    while position < len(words) and words[position].could_be_option:
        word = words[position]
        if word.text == "-C" and directory is None and position + 1 < len(words):
            directory = words[position + 1]
            if directory.several or directory.scripts:
                raise NotCovered(f"{directory.source!r} is not named plainly")
            position += 2
        elif word.text in _GLOBAL:
            position += 1
        else:
            raise NotCovered(f"the option {word.source!r} of 'git' is not known here")
    return position, directory


def read_git(program: Program, words: Sequence[Word], reading: Reading) -> None:
    """An alias is never one of the sub-commands: git knows those first."""
    position, _ = git_command(words)
    _read_sub_command(program, words, position, reading)


def read_nested(program: Program, words: Sequence[Word], reading: Reading) -> None:
    """A sub-command that has sub-commands; without one it lists."""
    position = next(n for n, word in enumerate(words) if word.text == program.name) + 1
    flags = {name for name in program.options if program.options[name].value == "none"}
    while position < len(words) and words[position].text in flags:
        position += 1
    _read_sub_command(program, words, position, reading)


def _read_sub_command(
    program: Program, words: Sequence[Word], position: int, reading: Reading
) -> None:
    if position >= len(words):
        return
    name = words[position].text
    command = program.commands.get(name or "")
    if command is None:
        known = "" if program.name != "git" else "; it may be an alias for any program"
        raise NotCovered(f"'{program.name} {words[position].source}' is not known here{known}")
    inner = read_words(command, words, position + 1)
    reading.purpose, reading.base, reading.uses = inner.purpose, inner.base, inner.uses
    reading.options, reading.arguments = inner.options, inner.arguments
    for at in inner.arguments:
        # `git blame -- file --output=x` moves the last word in front of the dashes.
        if words[at].could_be_option:
            raise NotCovered(f"{words[at].source!r} could become an option; write './' before it")


def lists_unless_named(*listing: str) -> Reader:
    """A reader of a sub-command that lists, unless it is told a name to make."""

    def read(program: Program, words: Sequence[Word], reading: Reading) -> None:
        if not reading.uses and (not reading.arguments or reading.given(*listing)):
            reading.base = "read"

    return read


def writes_when_given(*names: str) -> Reader:
    """A reader of a sub-command that writes to the repository when one of these options is given."""

    def read(program: Program, words: Sequence[Word], reading: Reading) -> None:
        if reading.given(*names):
            reading.purpose = reading.base = "write"

    return read


def read_config(program: Program, words: Sequence[Word], reading: Reading) -> None:
    """Settings are shown, never changed: they can name programs."""
    shows = ("--get", "--get-all", "--get-regexp", "-l", "--list")
    names = [words[position].text or "" for position in reading.arguments]
    if not reading.given(*shows) and (len(names) != 1 or "." not in names[0]):
        reading.uses.append(
            Use(effect="config", at=len(words), what="'git config', which can name programs to run")
        )
