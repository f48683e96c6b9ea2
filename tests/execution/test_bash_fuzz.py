"""Whatever a policy allows runs only permitted programs: tried on random command lines.

The lines run in a file system where every program is either a real permitted one or a canary that
leaves a trace. Nothing else exists there, so whatever was executed is known.
"""

import os
import random
import re
import shlex
import shutil
import string
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.execution.command_corpus import groups
from tests.execution.jail import Jail
from tests.execution.test_bash_table import ENDLESS

from toolwright.builtin.bash import BashToolPolicy
from toolwright.builtin.bash._grammar import Program
from toolwright.builtin.bash.programs import all_programs

REAL = (
    "git", "ls", "cat", "echo", "grep", "find", "xargs", "sort", "tar", "sed", "awk", "head", "uniq", "xxd",
    "wc", "sh", "timeout", "printf", "test", "date", "nohup", "nice", "diff", "split", "true", "stdbuf",
)  # fmt: skip
POLICY = BashToolPolicy(
    allowed_command_prefixes=(*REAL, "cd", "eval", "command", "exec", "jobs", "set")
)
PIECES = [
    " ", " ", " ", " ; ", " && ", " | ", " & ", "\n", "||", "|&", "id", "evil", "./evil", "/usr/bin/id",
    "bash", "-c", "'id'", "\"id\"", "$(id)", "`id`", "\"$(id)\"", "<(id)", "$'id'", "{id,}", "$IFS", "${x}",
    "A=1 ", "PATH=. ", "> f", "2>&1", "< f", "<<< id", "# x\n", "\\", "'", "\"", "(", ")", "{ ", "; }", "!",
    " -exec id {} +", " -exec sh -c id \\;", " --to-command=id", " --checkpoint-action=exec=id",
    " -I id", " --compress-program=id", " --filter=id", " -c alias.x=!id x", " -c core.pager=id -p log",
    " --upload-pack=id", " --open-files-in-pager=id", "eval ", "exec ", "command ", "env ", "sh -c ",
    "xargs ", "| xargs ", "xargs env ", "xargs -I{} ", "xargs -I ", " -v", "-V", "find . -exec ", " {} \\;", "--replace=", "timeout 1 ", "nohup ", "nice ", "find . ", "git ", "tar ", "sort ", "awk ", "sed ", "echo ",
    "ls ", "cat f ", "-n", "-", "--", "=", "*", "?", "~", "\t", "\\\n", "BEGIN{system(\"id\")}", "1e id", "s/a/id/e",
    "-i", "-S", "-u", "x", "f", "status", "log", "diff", "HEAD", "'a b'", "\\;", "{}", "+", "-o", "-f", "xf",
]  # fmt: skip


SEED = int(os.environ.get("TOOLWRIGHT_FUZZ_SEED", "0"))
TIMES = int(os.environ.get("TOOLWRIGHT_FUZZ_TIMES", "1"))
"""`make soak` tries other lines, and more of them."""


def lines(count: int) -> list[str]:
    """Random lines: pieces strung together, and known lines with pieces put into them."""
    chance = random.Random(20 + SEED)
    known = [line for group in groups() for _, line in group.lines() if len(line) < 200]
    made = []
    for _ in range(count):
        parts = chance.choices(PIECES, k=chance.randint(1, 6))
        if chance.random() < 0.7:
            line = chance.choice(known)
            cut = chance.randint(0, len(line))
            parts = [line[:cut], *parts[: chance.randint(1, 2)], line[cut:]]
        else:
            parts = [chance.choice(REAL), " ", *parts]
        made.append("".join(parts))
    return made


def quoted_lines(count: int) -> list[str]:
    """Random words, quoted in all ways, behind a program that shows what it gets."""
    chance = random.Random(23 + SEED)
    pieces = [
        "a", "b", "ab", "\\", "\\", "\\\n", "\\ ", "\\\\", "'", '"', "'a'", '"b"', " ", " ", "\n", "\t", "-", "*", "?",
        "[a]", "[a-z]", "[", "]", "{", "}", "{a}", "~", "!", "#", "=", "$?", '"$?"', "^", ",", ":", "@", "%", "+",
        "/", ";", "|", "(", ")", "\\'", '\\"', "show ", "; show ", "| show ", "&& show ", "|| show ", "$(show a)",
        '"$(show b)"', "`show a`", "\\n", "\\;", "\\|", "\\#", "a\\\nb", "\\\n ", " \\\n", "TZ=UTC ", "''", '""',
        "$'a'", "é", "-a", "0", "2", "\\\t",
    ]  # fmt: skip
    return ["show " + "".join(chance.choices(pieces, k=chance.randint(1, 7))) for _ in range(count)]


def redirected_lines(count: int) -> list[str]:
    """Random words right before and behind redirections, with spaces between them and without."""
    chance = random.Random(24 + SEED)
    words = [
        "a", "-ox2", "-2", "2", "12", "0", "1", "a2", "-a", "-", "--", "{fd}", "{a}", "{", "}", "'a'2", '"b"2', "\\2",
        "a\\ 2", "a\\ 0", "2\\\n", "a\\\n2", "\\\n", "$(show x)2", "`show x`2", "$(show -x2>&1)", '"$(show 2>f)"', "$?", "a=2", "A=1",
        "-ox2", "-a2", "[a]2", "~2", "#2", "a#2", "é2", "2é", "'2'", "-ox2\\", "''", "!", "x,2", "-x-2", "--x=2", "_2", ".2", "/2", "+2",
    ]  # fmt: skip
    operators = [
        ">", ">>", "<", ">&", "<&", "<<<", ">|", "<>", "&>", "&>>", "2>", "2>>", "0<", "2<", "{fd}>", "12>", "{a}<",
        "2>&1", ">&1", "1>&2", ">&-", "2>&-", "<&-", "2>& ", "\\>", "'>'",
    ]  # fmt: skip
    made: list[str] = []
    for _ in range(count):
        line = "show"
        for _ in range(chance.randint(1, 2)):
            for _ in range(chance.randint(0, 2)):
                line += chance.choice([" "] * 6 + ["", "\\\n", " \\\n"]) + chance.choice(words)
            for _ in range(chance.choice([1, 1, 1, 2])):
                operator = chance.choice(operators)
                line += chance.choice(["", "", " "]) + operator
                if operator[-1] in "<>&|" or chance.random() < 0.1:
                    line += chance.choice(["", " "]) + chance.choice(["f", "a", "new", *words])
            line += chance.choice(["", "", " ; show ", "\nshow ", " && show"])
        made.append(line)
    return made


_REDIRECTED = """exec 8>&1
show() { printf '<%s>' "$@" >&8; read -r line; echo "out$line"; echo err >&2; }
command_not_found_handle() { printf '?%s?' "$@" >&8; }
PATH=/nowhere
while IFS= read -r -d '' line; do
    (eval "$line") < /dev/null 2> /dev/null
    for file in *; do printf '[%s:%s]' "$file" "$(< "$file")"; done
    [ "$(echo *)" = "a f" ] || /bin/rm -rf ./*
    : > f; echo in > a
    printf '\\0'
done
"""
_SHOWN = """show() { printf '<%s>' "$@"; echo; }
command_not_found_handle() { printf '?%s?' "$@"; echo; }
PATH=/nowhere
while IFS= read -r -d '' line; do (eval "$line") < /dev/null 2> /dev/null; printf '\\0'; done
"""


def test_what_runs_has_the_words_that_the_shell_reads_in_the_original(tmp_path: Path) -> None:
    for name in ("a", "b", "ab"):
        (tmp_path / name).touch()
    policy = BashToolPolicy(("show",))
    pairs = [
        (line, verdict.checked)
        for line in quoted_lines(1500 * TIMES)
        if (verdict := policy.check(line, sandboxed=True)).allowed
        and " & " not in verdict.checked  # Who is shown first is chance.
    ]
    assert len(pairs) > 200, len(pairs)
    assert unlike(pairs, _SHOWN, tmp_path) == []


def test_redirections_have_the_words_and_files_that_the_shell_reads_in_the_original(
    tmp_path: Path,
) -> None:
    (tmp_path / "a").write_text("in\n")
    (tmp_path / "f").touch()
    policy = BashToolPolicy(("show",), allow_redirects=True)
    pairs = [
        (line, verdict.checked)
        for line in redirected_lines(1500 * TIMES)
        if (verdict := policy.check(line, sandboxed=True)).allowed
    ]
    assert len(pairs) > 200, len(pairs)
    assert len([line for line, _ in pairs if re.search(" -(ox|a)?2[<>]", line)]) > 3
    assert unlike(pairs, _REDIRECTED, tmp_path) == []


def unlike(pairs: Sequence[tuple[str, str]], script: str, place: Path) -> list[tuple[str, ...]]:
    """Command lines and what was judged of them, where the shell does not do the same with both."""
    done = subprocess.run(
        ["bash", "-c", script], input="\0".join(text for pair in pairs for text in pair) + "\0",
        cwd=place, capture_output=True, text=True, timeout=100, check=True,
    )  # fmt: skip
    shown = re.sub(r"line \d+:", "", done.stdout).split("\0")
    return [
        (*pair, shown[2 * at], shown[2 * at + 1])
        for at, pair in enumerate(pairs)
        if shown[2 * at] != shown[2 * at + 1]
    ]


def option_lines(count: int) -> list[str]:
    """Random options of each program, together, apart, with and without values, in any order."""
    chance = random.Random(21 + SEED)
    programs = [
        one
        for name in REAL
        for one in (all_programs()[name], *all_programs()[name].commands.values())
    ]
    values = ["1", "id", "./evil", "--", "-o", "out", "-", "f", "a.txt", "--output=out", "-x"]
    made = []
    for _ in range(count):
        program = chance.choice([one for one in programs if one.options])
        words = chance.choices(values, k=chance.randint(0, 3))
        words += [_option(chance, program, values) for _ in range(chance.randint(1, 3))]
        chance.shuffle(words)
        name = program.name if program.name in REAL else f"git {program.name}"
        made.append(" ".join([name, *words]))
    return made


def _option(chance: random.Random, program: Program, values: list[str]) -> str:
    name = chance.choice(list(program.options))
    match chance.randint(0, 4):
        case 0:
            return f"{name} {chance.choice(values)}"
        case 1:
            return f"{name}={chance.choice(values)}"
        case 2:
            return name[: chance.randint(2, len(name))]
        case 3:
            return f"{name}{chance.choice(list(program.options)).lstrip('-')}"
        case _:
            return name


def test_only_permitted_programs_run_whatever_is_allowed(tmp_path: Path) -> None:
    verdicts = [POLICY.check(line) for line in lines(1500 * TIMES)]
    allowed = sorted({verdict.checked for verdict in verdicts if verdict.allowed})
    assert len(allowed) > 60, len(allowed)
    assert Jail(tmp_path, REAL).run(allowed) == []


def test_random_options_start_nothing_and_what_reads_changes_nothing(tmp_path: Path) -> None:
    verdicts = [POLICY.check(line) for line in option_lines(900 * TIMES)]
    reads = sorted({verdict.checked for verdict in verdicts if verdict.read_only})
    writes = sorted({verdict.checked for verdict in verdicts if verdict.allowed} - set(reads))
    assert min(len(reads), len(writes)) > 20, (len(reads), len(writes))
    jail = Jail(tmp_path, REAL)
    before = jail.content()
    assert jail.run(reads) == []
    assert jail.content() == before
    assert jail.run(writes) == []


def reading_lines(count: int) -> list[str]:
    """Command lines of programs that read, with options and arguments in any order, that are said to read."""
    chance, made = random.Random(22 + SEED), set[str]()
    values = ["f", "new", "./new", "--", "-", "1", "x", ".", "src", "1,1", "auto", "-1", "+1"]
    while len(made) < count:
        program = all_programs()[chance.choice(READERS)]
        options = [o for o in program.options if (program.name, o) not in ENDLESS]
        words = [_option(chance, program, values) for _ in range(chance.randint(0, 3)) if options]
        words += chance.choices(values, k=chance.randint(1, 3))
        chance.shuffle(words)
        line = " ".join([program.name, *words])
        if not any(name in line for _, name in ENDLESS) and BashToolPolicy().check(line).read_only:
            made.add(line)
    return sorted(made)


READERS = [
    name
    for name, program in all_programs().items()
    if program.base == "read" and not program.anything and not program.command and not program.commands
    and shutil.which(name, path="/usr/bin:/bin") and name not in ("sleep", "less", "free", "vmstat")
]  # fmt: skip


def test_what_is_said_to_read_changes_nothing_whatever_its_words(tmp_path: Path) -> None:
    made = reading_lines(300 * TIMES)
    assert len({line.split()[0] for line in made}) > 40
    jail = Jail(tmp_path, READERS)
    before = jail.content()
    jail.said([f"timeout 2 {BashToolPolicy().check(line).checked}" for line in made])
    changed = {path for path, state in jail.content().items() if before.get(path) != state}
    assert (changed, before.keys() - jail.content().keys()) == (set(), set())
    assert not jail.traces()


_WORDS = st.lists(
    st.sampled_from([p.strip() for p in PIECES if p.strip()] + ["--x", "-abc", "-o", "''"]),
    max_size=6,
)


@settings(max_examples=300, deadline=None)
@given(name=st.sampled_from(sorted(all_programs())), words=_WORDS)
def test_judging_any_words_of_any_program_ends_in_a_verdict(name: str, words: list[str]) -> None:
    verdict = BashToolPolicy((name,)).check(" ".join([name, *words]))
    assert verdict.allowed != bool(verdict.reason)
    assert "could not be judged" not in verdict.reason


@settings(max_examples=300, deadline=None)
@given(script=st.text(alphabet="sy/|,;e wpdnaic{}!$0123\\\n[]^x#:bt~+", max_size=14))
def test_no_sed_script_with_the_command_e_is_taken_for_another(script: str) -> None:
    """GNU sed in its sandbox refuses scripts that run, read or write; ours must refuse those as well."""
    verdict = BashToolPolicy(("sed",)).check("sed " + _quoted(script) + " f")
    if verdict.allowed and "r" not in script:
        assert "e/w/r commands disabled" not in _sed_sandbox(script)


def test_whatever_stands_before_the_command_e_it_is_seen() -> None:
    """Any one or two characters: an address, a comment, or what no sed reads."""
    signs = ["", *string.punctuation, *" 1\t\n"]
    scripts = [f"{one}{two}e touch new" for one in signs for two in signs]
    policy = BashToolPolicy()
    taken = [s for s in scripts if policy.check(f"sed {_quoted(s)} f").read_only]
    assert "#e touch new" in taken
    assert [script for script in taken if "commands disabled" in _sed_sandbox(script)] == []


@pytest.mark.parametrize(
    "script", ["~p", "1~p", "+p", "?", "s/a/b/x", "s/a/b", "/a", "1]p", "s/a/b/\r", "@", "s/a"]
)
def test_a_sed_script_that_is_not_understood_is_never_taken_for_harmless(script: str) -> None:
    verdict = BashToolPolicy(("sed",)).check(f"sed {_quoted(script)} f")
    assert "understood" in verdict.reason or "control" in verdict.reason


@pytest.mark.parametrize(
    "script", ["/[/~e id #]/d", "/[/+w x #]/d", "/[/@e id #]/d", "s/[/]/\xa0w x/"]
)
def test_a_sed_script_is_refused_that_is_understood_in_one_reading_only(script: str) -> None:
    verdict = BashToolPolicy(("sed",)).check(f"sed {_quoted(script)} f")
    assert "is not understood at" in verdict.reason


@pytest.mark.parametrize(
    "program", ['{ print "', "/a", '{ print /a\n/ "x" }', 'BEGIN { x = "a\n" }']
)
def test_an_awk_program_that_is_not_understood_is_never_taken_for_harmless(program: str) -> None:
    assert "understood" in BashToolPolicy(("awk",)).check(f"awk {_quoted(program)} f").reason


@pytest.mark.parametrize(
    "script", ["s/[^/]*$//", "/[/]/d", "s/[/]/x/;2,+3p", "1~2!d", "s|[|/]||gp", "s/[/]/é/"]
)
def test_a_sed_script_that_is_a_mistake_in_one_reading_only_reads_in_the_other(script: str) -> None:
    assert BashToolPolicy().check(f"sed {_quoted(script)} f").read_only


def _quoted(text: str) -> str:
    return shlex.quote(text)


def _sed_sandbox(script: str) -> str:
    done = subprocess.run(["sed", "--sandbox", "-n", script], input="", capture_output=True, text=True,
                          env={"LC_ALL": "C"}, timeout=10, check=False)  # fmt: skip
    return done.stderr


AWK = (
    "/", '"', "[", "]", "\\", 'system("touch new")', "length", ")", "(", "!", "&&", " ", "#", "\n", "print", '> "new"',
    "printf ", "x", "1", "++", "$", ";", "{", "}", "in", "a[1]", ",", "~", "/x/", '"y"', "[]", "[^]", '\\"', "\\/",
    "\\\\", "return", "if(1)", "else", "exit", " = ", ' | "touch new"', "||",
)  # fmt: skip
SED = (
    "s/", "/", "[", "]", "\\", "w new", "e touch new", "\n", ";", "{", "}", "#", "a", "x", "^", "$", "p", "g", "ee",
    "y/", "//", "a\\", "i ", "b", "t", ":a", "1", "!", ",", "[^", "[]", "\\/", "\\]", "[:alpha:]", "I", " ", "~", "+",
)  # fmt: skip


def programs(name: str, pieces: Sequence[str], count: int) -> list[str]:
    """Command lines with random programs that could make a file, and are said to make none."""
    chance, made = random.Random(23 + SEED), list[str]()
    while len(made) < count:
        body = "".join(chance.choices(pieces, k=chance.randint(3, 12)))
        text = f"BEGIN{{ x = {chance.choice(['', '!'])}{body} }}" if name == "awk" else body
        if (
            "new" in text
            and BashToolPolicy().check(line := f"{name} {shlex.quote(text)}").read_only
        ):
            made.append(line)
    return made


@pytest.mark.parametrize(("name", "pieces"), [("awk", AWK), ("sed", SED)], ids=["awk", "sed"])
def test_no_program_that_is_said_to_read_makes_a_file(
    name: str, pieces: Sequence[str], tmp_path: Path
) -> None:
    lines = programs(name, pieces, 120 * TIMES)
    (tmp_path / "input").write_text("a\nb/x\n")
    script = "\n".join(f"timeout 2 {line} < ../input > /dev/null 2>&1" for line in lines)
    (tmp_path / "script").write_text(script)
    work = tmp_path / "work"
    work.mkdir()
    subprocess.run(["bash", "../script"], cwd=work, check=False, timeout=100)
    assert list(work.iterdir()) == []
