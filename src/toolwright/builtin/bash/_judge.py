"""Judge every command that a line could run, and write the line out again as it was understood."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

from toolwright.builtin.bash._grammar import Program, Reading
from toolwright.builtin.bash._quiet_git import quiet_git
from toolwright.builtin.bash._reading import read_words
from toolwright.builtin.bash._redirects import Redirects
from toolwright.builtin.bash._script import Operator, Redirect, Script, SimpleCommand
from toolwright.builtin.bash._syntax import read_script
from toolwright.builtin.bash._variables import is_harmless, refusal_of
from toolwright.builtin.bash._words import NotCovered, Refused, Word, option_like
from toolwright.builtin.bash.programs import known_program
from toolwright.builtin.bash.readers._find import found_paths

__all__ = ["Judge", "Terms"]

_DEEPEST = 4
_SAME = {";": {"\n"}, "`": {"$("}, "$(": {"`"}}
"""Operators that mean the same as a blocked one."""
_HERE = {"<<<", "<<", "<<-"}
"""Operators that are written out again in a way that only bash knows."""
_AT_ONCE = {"|", "|&", "&"}
"""Operators behind which two commands run at the same time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What is allowed."""

    prefixes: tuple[tuple[str, ...], ...]
    blocked: tuple[str, ...]
    allow_redirects: bool
    sandboxed: bool

    @property
    def allows_all(self) -> bool:
        """Whether every program is allowed."""
        return ("*",) in self.prefixes


class Judge:
    """Judges one command line and writes it out again as it was understood."""

    def __init__(self, terms: Terms) -> None:
        self._terms = terms
        self._depth = 0
        self._at_once = False
        self._shell = "bash"
        self._redirects = Redirects(allowed=terms.allow_redirects, anywhere=terms.allows_all)
        self._changes = False
        self.found: list[tuple[str, ...]] = []

    @property
    def read_only(self) -> bool:
        """Whether all that was found is known to change nothing."""
        return not self._changes and not self._redirects.write

    def command_line(self, command: str) -> str:
        """The command line with every word quoted; raises `Refused`."""
        checked = self._code(command)
        if self._at_once and self._changes:
            self._redirects.refuse("while another command may change where it leads")
        return self._redirects.prepared(checked)

    def _code(self, command: str) -> str:
        script = read_script(command)
        operators = script.all_operators() | ({"$?"} if "$?" in command else set())
        _refuse_operators(self._terms.blocked, operators, command)
        if self._shell != "bash" and operators & _HERE:
            raise Refused(f"input that is written into the code of {self._shell!r} is not judged; "
                          "use 'bash -c', or write it outside")  # fmt: skip
        self._at_once = self._at_once or bool(operators & _AT_ONCE)
        return self._script(script)

    def _code_of(self, shell: str, command: str) -> str:
        """The same for the code of a shell that this one starts."""
        outer, self._shell = self._shell, shell
        written = self._code(command)
        self._shell = outer
        return written

    def _script(self, script: Script) -> str:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise Refused("it is nested too deeply")
        written = "".join(self._piece(piece) for piece in script.pieces)
        self._depth -= 1
        return written

    def _piece(self, piece: SimpleCommand | Redirect | Operator) -> str:
        match piece:
            case Operator():
                return piece.rendered
            case Redirect():
                return self._redirects.rendered(piece)
            case SimpleCommand():
                self.found.append(piece.argv)
                words = self._command(piece.words, given=piece.assignments)
                variables = [f"{name}={self._word(value)}" for name, value in piece.variables]
                return " ".join([*variables, *(self._word(word) for word in words)])

    def _word(self, word: Word) -> str:
        parts = (p if isinstance(p, str) else f"$( {self._script(p)} )" for p in word.parts)
        return "".join(parts)

    def _command(
        self, words: tuple[Word, ...], *, more_arguments: bool = False, given: Sequence[str] = ()
    ) -> tuple[Word, ...]:
        """Judge one command, with the assignments before it; returns the words to run in its place."""
        try:
            return self._covered(words, more_arguments, given)
        except NotCovered:
            if not self._terms.allows_all:
                raise
            self._changes = True
            return words

    def _covered(
        self, words: tuple[Word, ...], more_arguments: bool, given: Sequence[str]
    ) -> tuple[Word, ...]:
        spelled_out = self._refuse_program(words, given)
        name = words[0].text or ""
        program = known_program(name)
        if name == "eval" and not more_arguments:
            return (words[0], Word.literal(self._code(" ".join(_plain_texts(words[1:])))))
        if program is None:
            _refuse_loose_patterns(words, None)
            self._refuse_unknown(name)
            return words
        if more_arguments and not program.is_tame and program.base != "code":
            raise NotCovered(f"{name!r} would get arguments that are not known before it runs")
        reading = _read(program, words)
        _refuse_loose_patterns(words[: reading.command], reading.dashes)
        self._refuse_effects(program, reading, spelled_out)
        self._at_once = self._at_once or reading.at_once
        if name == "cd":
            self._redirects.enter([words[position] for position in reading.arguments])
        if program.name == "git":
            return quiet_git(words, reads=reading.base == "read")
        inner = self._inner_commands(reading, words)
        return (inner[0], *(Word.literal(text) for text in program.quiet), *inner[1:])

    def _refuse_program(self, words: Sequence[Word], given: Sequence[str]) -> int:
        """How many words an allowed prefix spells out, not counting the assignments before them."""
        program = words[0].text
        if program is None:
            raise Refused(f"the program {words[0].source!r} is not named plainly")
        texts = [word.text for word in words]
        with_given = [prefix[len(given) :] for prefix in self._terms.prefixes
                      if given and len(prefix) > len(given) and prefix[: len(given)] == given]  # fmt: skip
        allowed = [p for p in with_given if texts[: len(p)] == list(p)]
        self._refuse_variables(given if not allowed else ())
        lengths = [len(p) for p in (*allowed, *self._terms.prefixes) if texts[: len(p)] == list(p)]
        if not lengths and not self._terms.allows_all:
            allowed = ", ".join(" ".join(prefix) for prefix in self._terms.prefixes)
            raise Refused(f"{program!r} is not allowed like this; allowed are: {allowed}")
        return max(lengths, default=0)

    def _refuse_variables(self, given: Sequence[str]) -> None:
        for assignment in given:
            name, _, value = assignment.partition("=")
            if not is_harmless(name, value):
                raise NotCovered(refusal_of(assignment))

    def _refuse_unknown(self, name: str) -> None:
        self._changes = True
        if not self._terms.sandboxed:
            raise NotCovered(f"{name!r} is not a program that is known here, so it could run any other; "
                             "that is allowed only in a sandbox")  # fmt: skip

    def _refuse_effects(self, program: Program, reading: Reading, spelled_out: int) -> None:
        """Whatever goes beyond what the program is for, unless the prefix spells it out."""
        if reading.base != "read" or any(use.effect != "read" for use in reading.uses):
            self._changes = True
        if reading.base == "shell":
            raise NotCovered(f"{program.name!r} changes what later commands do")
        if reading.base == "script" and not self._terms.sandboxed and spelled_out < 2:
            raise NotCovered(f"{program.name!r} runs a script that cannot be read here; "
                             "that is allowed only in a sandbox")  # fmt: skip
        for use in reading.uses:
            covered = use.at < spelled_out or use.effect == "network"
            if covered or (use.effect == "write" and reading.purpose != "read"):
                continue
            raise NotCovered(f"{use.what} {_DOES[use.effect]}")

    def _inner_commands(self, reading: Reading, words: tuple[Word, ...]) -> tuple[Word, ...]:
        """The same words with the commands inside them judged."""
        result = list(words)
        for position in reading.code:
            [code] = _plain_texts(words[position : position + 1])
            result[position] = Word.literal(self._code_of(words[0].text or "", code))
        if reading.command is not None:
            start = reading.command
            result[start:] = self._inner(reading, words[start:])
        elif reading.adds_arguments:
            self._changes = True
        for start, end in reversed(reading.commands):
            inner = tuple(found_paths(words, words[start:end]))
            self.found.append(SimpleCommand(words[start:end]).argv)
            result[start:end] = self._command(inner)
        return tuple(result)

    def _inner(self, reading: Reading, words: tuple[Word, ...]) -> tuple[Word, ...]:
        self.found.append(SimpleCommand(words).argv)
        if not reading.adds_arguments:
            return self._command(words)
        self._changes = True
        if not reading.placeholder:
            return self._command(words, more_arguments=True)
        return self._command(tuple(word.holding(reading.placeholder) for word in words))


_DOES = {
    "execute": "runs another program",
    "config": "loads settings that could run another program",
    "write": "writes a file; redirect the output instead, or list it with this option",
}


def _read(program: Program, words: tuple[Word, ...]) -> Reading:
    if program.anything or program.base in ("code", "shell"):
        return Reading(purpose=program.base, base=program.base)
    return read_words(program, words)


def _refuse_loose_patterns(words: Sequence[Word], dashes: int | None) -> None:
    """A pattern that could match a file named like an option may stand behind `--` only."""
    for word in words[:dashes]:
        if word.several and word.could_be_option:
            raise option_like(word.source)


def _plain_texts(words: Sequence[Word]) -> list[str]:
    texts = [word.text for word in takewhile(lambda word: word.text is not None, words)]
    if len(texts) < len(words) or not texts:
        raise Refused("the code to evaluate is not written out plainly")
    return [text for text in texts if text is not None]


def _refuse_operators(blocked: Sequence[str], used: set[str], command: str) -> None:
    for token in blocked:
        same = {token} | _SAME.get(token, set())
        hit = any(name in operator for operator in used for name in same)
        unusual = re.search(r"[\w\s]", token) is not None and token in command
        if hit or unusual:
            raise Refused(f"the operator {token!r} is not allowed")
