"""Which commands an agent may run, judged on what they would do rather than how they are spelled."""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from toolwright.backends import Limits
from toolwright.builtin.bash._rules import (
    EVALUATES,
    GIT_DIFFS,
    GIT_QUIET,
    SHELLS,
    executing_flag,
    only_reads,
    runs_code,
)
from toolwright.builtin.bash._syntax import Redirect, Script, SimpleCommand, read_script
from toolwright.builtin.bash._words import Refused, Word
from toolwright.builtin.bash._wrappers import find_commands, inner_command, is_wrapper
from toolwright.errors import UsageError

__all__ = ["BashToolPolicy", "BashVerdict"]

_DEEPEST = 4
_NULL = "/dev/null"
_SAME = {";": {"\n"}, "`": {"$("}, "$(": {"`"}}
"""Operators that mean the same as a blocked one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BashVerdict:
    """What a policy thinks of a command; nothing was run."""

    allowed: bool
    reason: str = ""
    """Why not."""
    commands: tuple[tuple[str, ...], ...] = ()
    """Every simple command found, with its arguments, as far as the reading got."""
    read_only: bool = False
    """Whether all of them are known to change nothing."""
    checked: str = ""
    """The command as it will be run: what was judged, every word quoted."""


@dataclass(frozen=True)
class BashToolPolicy:
    """What `ExecuteBashTool` runs, and within which limits.

    A prefix is one or more whole words: `"git"` allows neither `git-annex` nor `/tmp/git`, and
    `"git log"` allows no other git command. With prefixes, every program that a command could
    start must be allowed; what cannot be understood is refused.
    """

    allowed_command_prefixes: tuple[str, ...] = ("*",)
    """`"*"` allows everything."""
    blocked_operators: tuple[str, ...] = ()
    """Shell operators that are refused, such as `";"`, `"&&"`, `"|"`, `"$("`, `">"`."""
    timeout_seconds: int | None = 30
    max_memory_bytes: int | None = None
    max_file_size_bytes: int | None = None
    max_child_processes: int | None = None
    max_cpu_seconds: int | None = None
    max_open_files: int | None = None
    max_output_bytes: int = 1024 * 1024
    confirm_read_only: bool = True
    """Whether commands that change nothing need a person's consent as well."""
    allow_redirects: bool = False
    """With prefixes: whether output may be redirected to files below the working directory."""
    _prefixes: tuple[tuple[str, ...], ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if isinstance(self.allowed_command_prefixes, str) or isinstance(
            self.blocked_operators, str
        ):
            raise UsageError("Give prefixes and operators as tuples, like ('git', 'ls').")
        prefixes = tuple(tuple(shlex.split(text)) for text in self.allowed_command_prefixes)
        if not all(prefixes):
            raise UsageError(
                f"An empty prefix in {self.allowed_command_prefixes!r} allows nothing."
            )
        object.__setattr__(self, "_prefixes", prefixes)

    @property
    def limits(self) -> Limits:
        """The limits, as an executor takes them."""
        return Limits(
            timeout=self.timeout_seconds,
            memory=self.max_memory_bytes,
            file_size=self.max_file_size_bytes,
            processes=self.max_child_processes,
            cpu_seconds=self.max_cpu_seconds,
            open_files=self.max_open_files,
            output=self.max_output_bytes,
        )

    @property
    def allows_all(self) -> bool:
        """Whether every program is allowed."""
        return ("*",) in self._prefixes

    def check(self, command: str, *, sandboxed: bool = False) -> BashVerdict:
        """Judge a command without running it.

        `sandboxed` says that it will run where any code may run; only there are interpreters and
        build tools allowed, however they are listed.
        """
        judge = _Judge(self, sandboxed)
        try:
            script = read_script(command)
            _refuse_operators(self.blocked_operators, script, command)
            checked = judge.script(script)
        except Refused as refused:
            return self._not_understood(command, str(refused), judge)
        except Exception as error:  # noqa: BLE001  (a mistake in the judge must not become a yes)
            return self._not_understood(command, f"it could not be judged: {error!r}", judge)
        found = tuple(judge.found)
        read_only = judge.read_only and all(only_reads(argv) for argv in found)
        checked = command if self.allows_all else checked
        return BashVerdict(allowed=True, commands=found, read_only=read_only, checked=checked)

    def _not_understood(self, command: str, reason: str, judge: "_Judge") -> BashVerdict:
        found = tuple(judge.found)
        if self.allows_all and not self.blocked_operators:
            return BashVerdict(allowed=True, commands=found, checked=command)
        return BashVerdict(allowed=False, reason=reason, commands=found)


class _Judge:
    """Judges one command line and writes it out again as it was understood."""

    def __init__(self, policy: BashToolPolicy, sandboxed: bool) -> None:
        self._policy = policy
        self._sandboxed = sandboxed
        self._depth = 0
        self.found: list[tuple[str, ...]] = []
        self.read_only = True

    def script(self, script: Script) -> str:
        """The script with every word quoted; raises `Refused`."""
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
        parts = (p if isinstance(p, str) else f"$( {self.script(p)} )" for p in word.parts)
        return "".join(parts)

    def _redirect(self, redirect: Redirect) -> None:
        target = redirect.target
        if target is None or target == _NULL:
            return
        if target.startswith(("/dev/tcp/", "/dev/udp/")):
            raise Refused(f"the redirection to {target!r} opens a network connection")
        if redirect.writes:
            self.read_only = False
            if not self._policy.allows_all and not self._may_write(target):
                raise Refused(f"output may not be redirected to the file {target!r}")

    def _may_write(self, target: str) -> bool:
        path = PurePosixPath(target)
        plain = not path.is_absolute() and not any(part.startswith(".") for part in path.parts)
        return self._policy.allow_redirects and plain and not target.startswith(("~", "&"))

    def _command(self, words: tuple[Word, ...], more_arguments: bool = False) -> tuple[Word, ...]:
        """Judge one command; returns the words to run in its place."""
        argv = SimpleCommand(words).argv
        self._refuse_program(words)
        name = argv[0].rsplit("/", 1)[-1]
        uncertain = more_arguments or any(word.scripts for word in words)
        if self._policy.allows_all and name not in ("eval", *SHELLS):
            return words
        if name == "eval":
            return (words[0], Word.literal(self._nested(_plain_texts(words[1:]))))
        if name in SHELLS and (position := _shell_code(argv)) is not None:
            code = self._nested(_plain_texts(words[position : position + 1]))
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
        if self._policy.allows_all:
            return
        texts = [word.text for word in words]
        if not any(texts[: len(prefix)] == list(prefix) for prefix in self._policy._prefixes):
            allowed = ", ".join(self._policy.allowed_command_prefixes)
            raise Refused(f"{program!r} is not allowed like this; allowed are: {allowed}")
        if program in EVALUATES:
            raise Refused(f"{program!r} changes what later commands do")

    def _refuse_code(self, argv: Sequence[str], uncertain: bool) -> None:
        if self._policy.allows_all:
            return
        if (flag := executing_flag(argv)) is not None:
            raise Refused(f"{flag!r} makes {argv[0]!r} run another program")
        reason = runs_code(argv)
        if reason is None and uncertain and _guarded(argv):
            reason = f"{argv[0]!r} gets arguments that are not known before it runs"
        if reason is not None and not self._sandboxed:
            raise Refused(f"{reason}; that is allowed only in a sandbox")

    def _nested(self, texts: Sequence[str]) -> str:
        return self._recorded(read_script(" ".join(texts)))

    def _recorded(self, script: Script) -> str:
        _refuse_operators(self._policy.blocked_operators, script, "")
        return self.script(script)

    def _wrapped(self, name: str, words: tuple[Word, ...]) -> tuple[Word, ...]:
        self.read_only = False
        position, more = inner_command(name, words)
        looks_up = name == "command" and any(word.text in ("-v", "-V") for word in words[1:3])
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


def _guarded(argv: Sequence[str]) -> bool:
    """Whether some argument could make this program run another one."""
    probes = ("-exec", "-e", "--pre=x", "--exec=x", "--config=x", "-I", "-K", "-c", "-l", "-x")
    name = argv[0].rsplit("/", 1)[-1]
    rewritten = name in ("git", "sed", "gsed", "awk", "gawk", "mawk", "nawk", "find")
    return rewritten or any(executing_flag([argv[0], probe]) for probe in probes)


def _refuse_operators(blocked: Sequence[str], script: Script, command: str) -> None:
    used = script.all_operators()
    for token in blocked:
        same = {token} | _SAME.get(token, set())
        hit = any(name in operator for operator in used for name in same)
        unusual = re.search(r"[\w\s]", token) is not None and token in command
        if hit or unusual:
            raise Refused(f"the operator {token!r} is not allowed")
