"""Every row of the table of programs, held against the real program where this machine has it."""

import os
import re
import shutil
import subprocess
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from tests.execution.jail import Jail

from toolwright.builtin.bash import BashToolPolicy
from toolwright.builtin.bash._grammar import Option, Program
from toolwright.builtin.bash._reading import read_words
from toolwright.builtin.bash._words import Word
from toolwright.builtin.bash.programs import all_programs

SYSTEM = "/usr/bin:/bin"
"""Where the jail has its programs from."""
SHELL_ONLY = frozenset(
    [
        "cd",
        "command",
        "exec",
        "exit",
        "jobs",
        "set",
        "type",
        "ulimit",
        "umask",
        "wait",
        "dirs",
        "times",
        "time",
        "kill",
    ]
)
LEFT_OUT = frozenset({"sync", "pkill", "killall", "shred"})
"""Programs that would act on more than the jail's files."""
ENDLESS = {("tail", "-f"), ("tail", "-F"), ("tail", "--follow"), ("tail", "--retry"), ("shuf", "-r"),
           ("shuf", "--repeat")}  # fmt: skip
UNKNOWN = re.compile(
    r"unrecognized (option|argument)|(unknown|invalid|illegal|bad) option|not an option|"
    r"requires an? (argument|value|parameter)|doesn't allow an argument|takes no value|: is unknown"
)
NEWER = ("--branches", "bash -c", "findmnt f", "git diff --merge-base")
"""Options of newer versions than the oldest that is supported, and lines that lack something else."""


def distinct_rows() -> Iterator[tuple[str, Program]]:
    """Rows that are not the same as an earlier one."""
    seen: list[object] = []
    for name, program in rows():
        if not any(program.options is options for options in seen):
            seen.append(program.options)
            yield name, program


def rows() -> Iterator[tuple[str, Program]]:
    """Every program with options, and every sub-command under its full name."""
    yield from (found for name, one in all_programs().items() for found in _rows(name, one))


def _rows(name: str, program: Program) -> Iterator[tuple[str, Program]]:
    yield name, program
    for sub, command in program.commands.items():
        yield from _rows(f"{name} {sub}", command)


def tries(name: str, program: Program) -> dict[str, tuple[str, Option]]:
    """A command line for each option of a row: it stands last, or has its value attached."""
    files = "" if program.base != "read" or name.startswith("git") else " f"
    return {
        option: (f"{name}{files} {_with_value(program, option, known)}", known)
        for option, known in program.options.items()
        if not option.startswith(("--help", "--version", "--usage"))
        and (name, option) not in ENDLESS
    }


def _with_value(program: Program, name: str, option: Option) -> str:
    if option.value in ("none", "optional"):
        return name
    value = min(option.choices, default="1")
    between = "" if not name.startswith("--") else "=" if program.attaches else " "
    return f"{name}{between}{value}"


REAL = {
    name: program
    for name, program in distinct_rows()
    if program.options
    and shutil.which(name.split()[0], path=SYSTEM)
    and name.split()[0] not in SHELL_ONLY | LEFT_OUT
}


def _lines() -> Iterator[tuple[str, str]]:
    """One line for each option; those that many of git's sub-commands share, once."""
    shared = {*REAL["git diff"].options.values(), *REAL["git log"].options.values()}
    for name, program in REAL.items():
        for line, option in tries(name, program).values():
            if (
                name in ("git diff", "git log")
                or not name.startswith("git")
                or option not in shared
            ):
                yield line, name


def chosen_lines() -> list[str]:
    """All of them, or one in eight: which, the text of the line decides."""
    return sorted(line for line in {line for line, _ in _lines()} if is_chosen(line))


def is_chosen(line: str, one_in: int = 8) -> bool:
    return "TOOLWRIGHT_WHOLE_TABLE" in os.environ or zlib.crc32(line.encode()) % one_in == 0


@pytest.fixture(scope="module")
def jail(tmp_path_factory: pytest.TempPathFactory) -> Jail:
    return Jail(tmp_path_factory.mktemp("table") / "jail", {name.split()[0] for name in REAL})


def is_read_only(line: str) -> bool:
    return not line.startswith("git") and BashToolPolicy().check(line).read_only


def not_known(jail: Jail, lines: list[str]) -> dict[str, str]:
    """The lines with an option that the program does not know, or not with this kind of value."""
    return {
        line: error
        for line, error in zip(lines, jail.errors(lines), strict=True)
        if UNKNOWN.search(error) and not any(other in line for other in NEWER)
    }


def test_most_of_the_table_is_on_this_machine() -> None:
    assert len(REAL) >= 150


def test_an_option_that_is_said_to_read_is_known_and_writes_nothing(jail: Jail) -> None:
    lines = [line for line in chosen_lines() if is_read_only(line)]
    before = jail.content()
    assert not_known(jail, lines) == {}
    assert jail.content() == before
    assert not jail.traces()


def test_every_other_option_is_known_with_the_value_that_the_table_says(jail: Jail) -> None:
    lines = [line for line in chosen_lines() if not is_read_only(line)]
    # What changes the repository comes last: some sub-commands read no options without a commit.
    lines.sort(key=lambda line: not BashToolPolicy().check(line).read_only)
    assert not_known(jail, lines) == {}


def test_an_option_that_does_not_exist_is_found_out(tmp_path: Path) -> None:
    jail = Jail(tmp_path, ["sort", "ls", "git"])
    lines = ["sort --no-such-option", "sort -k", "ls --all=x", "git log --no-such-option", "ls -l"]
    assert list(not_known(jail, lines)) == lines[:-1]


BOGUS = {"xxd": "-Q", "unzip": "-Q"}
"""What is no option of these; of all others `--no-such-option` is none."""
BY_OTHER_MEANS = frozenset(["bash", "git rev-parse", "unzip", "yq"])
"""Programs that say nothing to an option that does not exist, or for another reason than that."""
FIRST = {
    ("wget", "--no-config"),
    ("git diff", "--no-index"),
    ("getconf", "-a"),
    ("git format-patch", "--follow"),
}
"""Options that change how the rest is read."""


def probe(name: str, option: str = "") -> str:
    """A command line with an option, and behind it one that does not exist."""
    behind = "" if name == "git diff-files" else "HEAD" if name.startswith("git") else "f"
    return " ".join([name, option, BOGUS.get(name, "--no-such-option"), behind])


def probed() -> Iterator[tuple[str, str, Option]]:
    """All options, or one in sixteen, but for those that no policy covers anyway."""
    for name, program in REAL.items():
        for option, known in program.options.items():
            skipped = (
                option.startswith(("--help", "--version", "--usage")) or known.value == "attached"
            )
            skipped = skipped or known.effect in ("execute", "config") or name in BY_OTHER_MEANS
            skipped = skipped or (name, option) in ENDLESS | FIRST
            if not skipped and is_chosen(probe(name, option), 16):
                yield name, option, known


def test_an_option_takes_the_next_word_when_the_table_says_so_and_only_then(tmp_path: Path) -> None:
    """Behind one that takes it, an option that does not exist is a value, and nobody complains of it."""
    jail = Jail(tmp_path, {name.split()[0] for name in REAL})
    rows = list(probed())
    assert len(rows) > 200
    for reads in (True, False):
        assert misread(jail, [row for row in rows if (REAL[row[0]].base == "read") is reads]) == {}


def misread(jail: Jail, rows: Sequence[tuple[str, str, Option]]) -> dict[str, str]:
    """The command lines that the program reads in another way than the table, with what it says."""
    programs = list(dict.fromkeys(name for name, *_ in rows))
    complaints = dict(zip(programs, _spoken(jail, [probe(name) for name in programs]), strict=True))
    spoken = _spoken(jail, [probe(name, option) for name, option, _ in rows])
    wrong = [
        (name, option, said)
        for (name, option, known), said in zip(rows, spoken, strict=True)
        if (known.value in ("required", "unless_last")) == (said == complaints[name])
        and not UNKNOWN_HERE.search(said)
    ]
    # What says the same alone, and does not complain, ended before it came to the next word.
    alone = _spoken(jail, [f"{name} {option}" for name, option, _ in wrong])
    return {
        probe(name, option): said
        for (name, option, said), without in zip(wrong, alone, strict=True)
        if said != without or said == complaints[name]
    }


UNKNOWN_HERE = re.compile("unknown option `branches'")
"""An option of newer versions than the oldest that is supported."""


def _spoken(jail: Jail, lines: list[str]) -> list[str]:
    return [re.sub(r"line \d+: ", "", said) for said in jail.said(lines)]


def test_a_value_that_is_in_truth_an_option_is_found_out(tmp_path: Path) -> None:
    jail = Jail(tmp_path, ["git", "zstd"])
    for line, other in (("git shortlog -n", "git shortlog -s"), ("zstd -T", "zstd -q")):
        first, second = _spoken(jail, [f"{line} --no-such-option f", f"{other} --no-such-option f"])
        assert first == second
    taken = _spoken(jail, ["git log --author --no-such-option", "git log --no-such-option"])
    assert taken[0] != taken[1]


def test_behind_an_argument_nothing_is_an_option_where_the_table_says_so_nor_its_end() -> None:
    strict = [program for _, program in rows() if not program.permutes and program.reader is None]
    assert "xxd" in [program.name for program in strict]
    for program in strict:
        words = [Word.literal(text) for text in (program.name, "a", "--", "-")]
        assert read_words(program, words).arguments == [1, 2, 3]


LOOKS_UP = re.compile(
    rb"\0(getaddrinfo|gethostby\w+|getnameinfo|gethostent|gethostid|res_n?(query|search))\0"
)
"""Functions that ask for the names or addresses of hosts, as a program's list of functions names them."""
SOMETIMES = {
    "git": "only reads without any protocol", "tar": "an archive with a host runs another program",
    "ip": "only with -r, which is not known here", "bash": "only redirections, which are judged",
    "hostname": "by option", "netstat": "without -n", "ss": "by option and filter", "who": "by option",
}  # fmt: skip
"""Programs that look up hosts in some of their uses; the corpus has lines for these."""


def test_a_program_that_can_look_up_hosts_is_not_said_to_read_whatever_its_words_are() -> None:
    """A name that is looked up is sent to a name server, and with it what a command has put into it."""
    reaching = {
        name
        for name, program in all_programs().items()
        if (path := shutil.which(name, path=SYSTEM))
        and program.base not in ("network", "code")
        and LOOKS_UP.search(Path(path).read_bytes())
    }
    assert {"hostname", "ss", "git"} <= reaching
    assert reaching <= SOMETIMES.keys()


_HELP_LINE = re.compile(r"^\s{0,8}(-[A-Za-z0-9]\b(?!-)|--[a-z])[^\n]*", re.M)
_HELP_NAME = re.compile(r"(?:^|[\s,|/])(--?[A-Za-z0-9][\w-]*)")
NO_OPTIONS = {"cksum": {"-r", "-s"}, "cut": {"-M"}, "numfmt": {"-M"}}
"""What stands in a help text and is an option of something else, or an example."""


def options_of(name: str) -> set[str]:
    """The options that a program's help names at the beginning of its lines."""
    done = subprocess.run([name, "--help"], capture_output=True, text=True, check=False, timeout=10,
                          stdin=subprocess.DEVNULL)  # fmt: skip
    lines = [found[0].strip() for found in _HELP_LINE.finditer(done.stdout + done.stderr)]
    beginnings = [re.split(r"\s{2,}|\t", line)[0] for line in lines]
    found = {name for line in beginnings for name in _HELP_NAME.findall(line)}
    return {name for name in found if not re.fullmatch(r"-\d+|-[A-Z]{2,}", name)}


TAME = {
    name: program
    for name, program in all_programs().items()
    if program.is_tame
    and not program.anything
    and shutil.which(name, path=SYSTEM)
    and name not in SHELL_ONLY | LEFT_OUT
}


def test_programs_that_may_get_any_argument_have_all_their_options_in_the_table() -> None:
    assert len(TAME) > 40
    missing = {
        name: sorted(options_of(name) - program.options.keys() - NO_OPTIONS.get(name, set()))
        for name, program in TAME.items()
    }
    assert {name: options for name, options in missing.items() if options} == {}


def test_an_option_that_the_table_lacks_is_found_in_the_help() -> None:
    assert {"--output", "-o", "--compress-program", "-k"} <= options_of("sort")
    assert not all_programs()["zstdcat"].is_tame
