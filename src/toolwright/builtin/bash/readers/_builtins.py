"""Read the words of builtins and programs whose arguments are not options and files."""

import re
from collections.abc import Sequence

from toolwright.builtin.bash._grammar import Program, Reading, Use, names
from toolwright.builtin.bash._variables import is_harmless, refusal_of
from toolwright.builtin.bash._words import NotCovered, Word

__all__ = [
    "read_command",
    "read_date",
    "read_dd",
    "read_env",
    "read_ip",
    "read_less",
    "read_netstat",
    "read_printf",
    "read_setsid",
    "read_setting",
    "read_shell",
    "read_ss",
    "read_ssh",
    "read_test",
    "read_xargs",
]

_COUNTS = re.compile(r"%[-+ #0-9.*'$]*[hlLjztq]*n")
"""The conversion with which `printf` sets a variable."""
_EVALUATES = ("-v", "-R")
"""Tests of a variable, whose subscript the shell evaluates."""
_UNARY = re.compile(r"-[a-uw-zA-QS-Z]")
_BINARY = names("= == != < > -eq -ne -lt -le -gt -ge -nt -ot -ef -a -o")
_DD = names("if of bs ibs obs cbs count skip seek iseek oseek conv iflag oflag status")
_HOST = re.compile(r"[\w.@:%/\[\]-]+")
_IP_OBJECTS = re.compile(r"a(ddr(ess)?)?|l(ink)?|r(oute)?|n(eigh)?|ru(le)?")
_IP_SHOWS = ("show", "list", "ls", "lst", "get")


def read_printf(program: Program, words: Sequence[Word], reading: Reading) -> None:
    """`-v` and `%n` set variables, and a variable's subscript is evaluated."""
    rest = list(words[1:])
    if rest and rest[0].text == "--":
        rest = rest[1:]
    elif rest and rest[0].could_be_option:
        raise NotCovered(f"{rest[0].source!r} could make 'printf' set a variable")
    if rest and (rest[0].text is None or _COUNTS.search(rest[0].text)):
        raise NotCovered(f"the format {rest[0].source!r} could make 'printf' set a variable")


def read_test(program: Program, words: Sequence[Word], reading: Reading) -> None:
    """Conditions, none of which evaluates a subscript."""
    rest = list(words[1:])
    if program.name == "[" and (not rest or rest.pop().text != "]"):
        raise NotCovered("'[' ends with ']'")
    if found := next((word for word in rest if word.text in _EVALUATES), None):
        raise NotCovered(f"{found.text!r} makes {program.name!r} evaluate a subscript")
    uncertain = [word for word in rest if word.text is None and word.could_be_option]
    if uncertain and not _is_plain_condition([word.text for word in rest]):
        raise NotCovered(f"{uncertain[0].source!r} could become an operator of {program.name!r}")


def _is_plain_condition(texts: Sequence[str | None]) -> bool:
    """Whether the operator is certain, so that the rest are operands whatever they become."""
    match texts:
        case [str(unary), None]:
            return _UNARY.fullmatch(unary) is not None
        case [_, str(binary), _]:
            return binary in _BINARY
        case _:
            return False


def read_dd(program: Program, words: Sequence[Word], reading: Reading) -> None:
    """Settings like `if=file`."""
    for word in words[1:]:
        name, equals, _ = (word.text or word.start).partition("=")
        if not equals or name not in _DD:
            raise NotCovered(f"{word.source!r} is not known as a setting of 'dd'")


def read_date(program: Program, words: Sequence[Word], reading: Reading) -> None:
    """An argument that is no format sets the clock."""
    for position in reading.arguments:
        if not (words[position].text or words[position].start).startswith("+"):
            reading.uses.append(Use(effect="write", at=position, what="a new time for 'date'"))


def read_less(program: Program, words: Sequence[Word], reading: Reading) -> None:
    """An argument that begins with `+` is a command."""
    for position in reading.arguments:
        if (words[position].text or words[position].start)[:1] in ("+", ""):
            raise NotCovered(f"{words[position].source!r} could be a command of 'less'")


def read_setting(program: Program, words: Sequence[Word], reading: Reading) -> None:
    """Any argument changes a setting of the machine."""
    for position in reading.arguments:
        what = f"{words[position].source!r} for {program.name!r}"
        reading.uses.append(Use(effect="write", at=position, what=what))


def read_shell(program: Program, words: Sequence[Word], reading: Reading) -> None:
    """With `-c` the code stands here; otherwise it is in a file, or comes as input."""
    if reading.given("-c") and reading.command is not None:
        reading.code = [reading.command]
        reading.base = "read"
    reading.command = None


def read_env(program: Program, words: Sequence[Word], reading: Reading) -> None:
    """Assignments stand before the command, each of which could change what that does."""
    while reading.command is not None:
        name, equals, value = (words[reading.command].text or "").partition("=")
        if not equals:
            return
        if not is_harmless(name, value):
            raise NotCovered(refusal_of(words[reading.command].source))
        following = reading.command + 1
        reading.command = following if following < len(words) else None


def read_command(program: Program, words: Sequence[Word], reading: Reading) -> None:
    """`command -v` only looks its arguments up."""
    if reading.given("-v", "-V"):
        reading.command = None


def read_setsid(program: Program, words: Sequence[Word], reading: Reading) -> None:
    """Told to fork, it leaves its command running."""
    reading.at_once = reading.given("-f", "--fork")


def read_xargs(program: Program, words: Sequence[Word], reading: Reading) -> None:
    """The command gets arguments from the input, at its end or in place of a mark."""
    reading.adds_arguments = True
    reading.at_once = reading.given("-P", "--max-procs")
    if not reading.given("-I", "-i", "--replace"):
        return
    if reading.given("-n", "--max-args", "-L", "-l", "--max-lines"):
        raise NotCovered("xargs replaces '{}' or takes a number of arguments or lines; of both together "
                         "the last counts, which versions of it read differently")  # fmt: skip
    marks = [value.text for value in reading.values("-I", "-i", "--replace")] or ["{}"]
    if set(marks) != {"{}"}:
        raise NotCovered("xargs may only replace '{}'")
    reading.placeholder = "{}"


def read_ssh(program: Program, words: Sequence[Word], reading: Reading) -> None:
    """What follows the host runs there, not here."""
    reading.command = None
    for position in reading.arguments[:1]:
        # Settings of the user can put the host into a command line.
        if not _HOST.fullmatch(words[position].text or ""):
            raise NotCovered(f"the host {words[position].source!r} is not plainly a name")


def read_ip(program: Program, words: Sequence[Word], reading: Reading) -> None:
    """Only what shows something."""
    rest = [words[position].text or "" for position in reading.arguments]
    if (
        not rest
        or not _IP_OBJECTS.fullmatch(rest[0])
        or rest[1:2] not in ([], *([v] for v in _IP_SHOWS))
    ):
        raise NotCovered("of 'ip' only what shows addresses, links, routes and neighbours is known")


def read_ss(program: Program, words: Sequence[Word], reading: Reading) -> None:
    """A filter may hold the name of a host, which is looked up."""
    for position in reading.arguments[:1]:
        what = f"the filter {words[position].source!r} of 'ss'"
        reading.uses.append(Use(effect="network", at=position, what=what))


def read_netstat(program: Program, words: Sequence[Word], reading: Reading) -> None:
    """The names of hosts are looked up unless it is told not to."""
    if not reading.given("-n", "--numeric", "--numeric-hosts"):
        reading.uses.append(Use(effect="network", at=0, what="'netstat' without '-n'"))
