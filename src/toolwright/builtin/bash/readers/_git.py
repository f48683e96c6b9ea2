"""Read a git command: its own options, then those of the sub-command."""

import re
from collections.abc import Sequence

from toolwright.builtin.bash._grammar import Program, Reader, Reading, Use, names
from toolwright.builtin.bash._reading import read_words
from toolwright.builtin.bash._words import NotCovered, Word

__all__ = [
    "STRATEGIES",
    "git_command",
    "lists_unless_named",
    "read_config",
    "read_git",
    "read_nested",
    "read_status",
    "writes_when_given",
]

STRATEGIES = "ort|recursive|resolve|octopus|ours|subtree"
"""Any other name of a merge strategy would be looked up as a program."""
_GLOBAL = ("--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs", "--version", "-v")
_OWN = names(
    "archimport bugreport bundle checkout-index citool commit-graph commit-tree credential "
    "credential-cache credential-store cvsexportcommit cvsimport cvsserver daemon diagnose difftool "
    "fast-export fast-import fetch-pack filter-branch fmt-merge-msg for-each-repo gc get-tar-commit-id gui "
    "help hook http-backend http-fetch http-push imap-send index-pack instaweb interpret-trailers "
    "mailinfo mailsplit maintenance merge-file merge-index merge-one-file merge-tree mergetool mktag "
    "mktree multi-pack-index p4 pack-objects pack-redundant pack-refs patch-id prune prune-packed "
    "quiltimport read-tree receive-pack repack replace request-pull rerere send-email send-pack shell "
    "sparse-checkout stripspace svn unpack-file unpack-objects update-ref update-server-info "
    "upload-archive upload-pack var verify-commit verify-pack verify-tag web--browse"
)
"""Sub-commands of git that are not in the table; no alias can take their place."""
_WHO = ("user.name", "user.email")
_REVISION = re.compile(r"(?:(?![A-Z@/~^{])[\w./~^@{}:-])*+[A-Z@/~^{][\w./~^@{}:-]*+")
"""What is plainly a revision, and cannot be a sub-command of some version of git."""

_COUNT = re.compile(r"[0-9]{1,6}")


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
    """A sub-command that has sub-commands; without one it lists, or does what its default does."""
    position = reading.start
    flags = {name for name in program.options if program.options[name].value == "none"}
    while position < len(words) and words[position].text in flags:
        position += 1
    if program.default and _names_none(words[position:]):
        _read_command(program.commands[program.default], words, position, reading)
    else:
        _read_sub_command(program, words, position, reading)


def _names_none(words: Sequence[Word]) -> bool:
    first = words[0].text if words else "-"
    return first is not None and (first.startswith("-") or _REVISION.fullmatch(first) is not None)


def _read_sub_command(
    program: Program, words: Sequence[Word], position: int, reading: Reading
) -> None:
    if position >= len(words):
        return
    name = words[position].text
    command = program.commands.get(name or "")
    if command is None:
        alias = program.name == "git" and name not in _OWN
        known = "; it may be an alias for any program" if alias else ""
        raise NotCovered(f"'{program.name} {words[position].source}' is not known here{known}")
    _read_command(command, words, position + 1, reading)


def _read_command(command: Program, words: Sequence[Word], start: int, reading: Reading) -> None:
    inner = read_words(command, words, start)
    reading.purpose, reading.base, reading.uses = inner.purpose, inner.base, inner.uses
    reading.options, reading.arguments = inner.options, inner.arguments
    for at in inner.arguments:
        # `git blame -- file --output=x` moves the last word in front of the dashes.
        if words[at].could_be_option:
            raise NotCovered(f"{words[at].source!r} could become an option; write './' before it")


def lists_unless_named(*listing: str) -> Reader:
    """A reader of a sub-command that lists, unless it is told a name to make."""

    def read(program: Program, words: Sequence[Word], reading: Reading) -> None:
        # A negative number of lines, or one that is too large for git, is taken for none given.
        counts = [value.text or "" for value in reading.values("-n")]
        lists = reading.given(*listing) and all(_COUNT.fullmatch(count) for count in counts)
        if not reading.uses and (not reading.arguments or lists):
            reading.base = "read"

    return read


def writes_when_given(*names: str) -> Reader:
    """A reader of a sub-command that writes to the repository when one of these options is given."""

    def read(program: Program, words: Sequence[Word], reading: Reading) -> None:
        if reading.given(*names):
            reading.purpose = reading.base = "write"

    return read


def read_status(program: Program, words: Sequence[Word], reading: Reading) -> None:
    """Told twice to be verbose, it shows differences in repositories inside as their owners want it."""
    verbose = [option for option, _ in reading.options if "--verbose" in option.names]
    if len(verbose) > 1:
        reading.base = "write"


def read_config(program: Program, words: Sequence[Word], reading: Reading) -> None:
    """Settings are shown; of changing them only who commits is known, for others can name programs."""
    shows = ("--get", "--get-all", "--get-regexp", "-l", "--list")
    given = [words[position].text or "" for position in reading.arguments]
    if len(given) == 2 and given[0] in _WHO and not reading.given(*shows):
        reading.purpose = reading.base = "write"
    elif not reading.given(*shows) and (len(given) != 1 or "." not in given[0]):
        reading.uses.append(
            Use(effect="config", at=len(words), what="'git config', which can name programs to run")
        )
