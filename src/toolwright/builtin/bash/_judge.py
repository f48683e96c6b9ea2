"""Judge every command that a line could run, and write the line out again as it was understood."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from toolwright.builtin.bash._rules import (
    EVALUATES,
    GIT_DIFFS,
    GIT_QUIET,
    SHELLS,
    can_be_told_to_execute,
    executing_flag,
    runs_code,
)
from toolwright.builtin.bash._script import Redirect, Script, SimpleCommand
from toolwright.builtin.bash._syntax import read_script
from toolwright.builtin.bash._words import Refused, Word
from toolwright.builtin.bash._wrappers import find_commands, inner_command, is_wrapper

__all__ = ["Judge", "Terms"]

_DEEPEST = 4
_NULL = "/dev/null"
_SAME = {";": {"\n"}, "`": {"$("}, "$(": {"`"}}
"""Operators that mean the same as a blocked one."""


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
        self.found: list[tuple[str, ...]] = []
        self.read_only = True

    def command_line(self, command: str) -> str:
        """The command line with every word quoted; raises `Refused`."""
        script = read_script(command)
        _refuse_operators(self._terms.blocked, script, command)
        return self._script(script)

    def _script(self, script: Script) -> str:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise Refused("it is nested too deeply")
        written = "".join(self._piece(piece) for piece in script.pieces)
        self._depth -= 1
        return written

    def _piece(self, piece: SimpleCommand | Redirect | str) -> str:
        match piece:
            case str():
                return piece
            case Redirect():
                self._redirect(piece)
                return piece.rendered
            case SimpleCommand():
                self.found.append(piece.argv)
                return " ".join(self._word(word) for word in self._command(piece.words))

    def _word(self, word: Word) -> str:
        parts = (p if isinstance(p, str) else f"$( {self._script(p)} )" for p in word.parts)
        return "".join(parts)

    def _redirect(self, redirect: Redirect) -> None:
        target = redirect.target
        if target is None or target == _NULL:
            return
        if target.startswith(("/dev/tcp/", "/dev/udp/")):
            raise Refused(f"the redirection to {target!r} opens a network connection")
        if redirect.writes:
            self.read_only = False
            if not self._terms.allows_all and not self._may_write(target):
                raise Refused(f"output may not be redirected to the file {target!r}")

    def _may_write(self, target: str) -> bool:
        path = PurePosixPath(target)
        plain = not path.is_absolute() and not any(part.startswith(".") for part in path.parts)
        return self._terms.allow_redirects and plain and not target.startswith(("~", "&"))

    def _command(self, words: tuple[Word, ...], more_arguments: bool = False) -> tuple[Word, ...]:
        """Judge one command; returns the words to run in its place."""
        argv = SimpleCommand(words).argv
        self._refuse_program(words)
        name = argv[0].rsplit("/", 1)[-1]
        uncertain = more_arguments or any(word.scripts for word in words)
        if self._terms.allows_all and name not in ("eval", *SHELLS):
            return words
        if more_arguments and (name in ("eval", "find", *SHELLS) or is_wrapper(name)):
            raise Refused(f"{name!r} would get a command that is not known before it runs")
        if name == "eval":
            return (words[0], Word.literal(self.command_line(" ".join(_plain_texts(words[1:])))))
        if name in SHELLS and (position := _shell_code(argv)) is not None:
            code = self.command_line(*_plain_texts(words[position : position + 1]))
            return (*words[:position], Word.literal(code), *words[position + 1 :])
        if is_wrapper(name):
            return self._wrapped(name, words)
        if name == "find":
            return self._find(words)
        self._refuse_code(argv, uncertain)
        return _quiet(words) if name == "git" else words

    def _refuse_program(self, words: Sequence[Word]) -> None:
        program = words[0].text
        if program is None:
            raise Refused(f"the program {words[0].source!r} is not named plainly")
        if self._terms.allows_all:
            return
        texts = [word.text for word in words]
        if not any(texts[: len(prefix)] == list(prefix) for prefix in self._terms.prefixes):
            allowed = ", ".join(" ".join(prefix) for prefix in self._terms.prefixes)
            raise Refused(f"{program!r} is not allowed like this; allowed are: {allowed}")
        if program in EVALUATES:
            raise Refused(f"{program!r} changes what later commands do")

    def _refuse_code(self, argv: Sequence[str], uncertain: bool) -> None:
        if self._terms.allows_all:
            return
        if (flag := executing_flag(argv)) is not None:
            raise Refused(f"{flag!r} makes {argv[0]!r} run another program")
        reason = runs_code(argv)
        if reason is None and uncertain and can_be_told_to_execute(argv[0]):
            reason = f"{argv[0]!r} gets arguments that are not known before it runs"
        if reason is not None and not self._terms.sandboxed:
            raise Refused(f"{reason}; that is allowed only in a sandbox")

    def _wrapped(self, name: str, words: tuple[Word, ...]) -> tuple[Word, ...]:
        self.read_only = False
        position, more = inner_command(name, words)
        options = [word.text for word in words[1:position]]
        looks_up = name == "command" and ("-v" in options or "-V" in options)
        if position == len(words) or looks_up:
            return words
        self.found.append(SimpleCommand(words[position:]).argv)
        return (*words[:position], *self._command(words[position:], more))

    def _find(self, words: tuple[Word, ...]) -> tuple[Word, ...]:
        result = list(words)
        for start, end in reversed(find_commands(words)):
            self.found.append(SimpleCommand(words[start:end]).argv)
            result[start:end] = self._command(words[start:end], more_arguments=True)
        if any(word.scripts for word in words):
            raise Refused("'find' gets arguments that are not known before it runs")
        return tuple(result)


def _quiet(words: tuple[Word, ...]) -> tuple[Word, ...]:
    """The same git command without the programs that a repository could make it run."""
    at = next((n for n, w in enumerate(words[1:], start=1) if w.text in GIT_DIFFS), None)
    diffs = ["--no-ext-diff", "--no-textconv"] if at is not None else []
    end = len(words) if at is None else at + 1
    before, after = words[1:end], words[end:]
    return (words[0], *_literals(GIT_QUIET), *before, *_literals(diffs), *after)


def _literals(texts: Sequence[str]) -> list[Word]:
    return [Word.literal(text) for text in texts]


def _plain_texts(words: Sequence[Word]) -> list[str]:
    texts = [word.text for word in words]
    if None in texts or not texts:
        raise Refused("the code to evaluate is not written out plainly")
    return [text for text in texts if text is not None]


def _shell_code(argv: Sequence[str]) -> int | None:
    """Where the code of `sh -c code` stands; None when it is not called in that plain way."""
    for position, argument in enumerate(argv[1:], start=1):
        if re.fullmatch(r"-[eux]*c", argument):
            return position + 1 if position + 1 < len(argv) else None
        if not re.fullmatch(r"-[eux]+|--norc|--noprofile", argument):
            return None
    return None


def _refuse_operators(blocked: Sequence[str], script: Script, command: str) -> None:
    used = script.all_operators()
    for token in blocked:
        same = {token} | _SAME.get(token, set())
        hit = any(name in operator for operator in used for name in same)
        unusual = re.search(r"[\w\s]", token) is not None and token in command
        if hit or unusual:
            raise Refused(f"the operator {token!r} is not allowed")
