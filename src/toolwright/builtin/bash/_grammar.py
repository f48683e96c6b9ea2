"""What is known about a program: its options, its arguments, and what each of them does.

A table of programs is written with `program`. Options are separated by commas; the names of one
option stand beside each other, and what follows says whether it takes a value:

    -a --all            no value; `-abc` stands for the flags -a, -b and -c, if flags bundle
    -k --key=           a value, attached or in the next word
    --color[=]          a value only when attached
    --merged=?          a value, attached or in the next word, unless it is the last word
    --format==          a value that must be attached
    -o=posix|xtrace     one of these values
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from toolwright.builtin.bash._words import Word

__all__ = ["Base", "Effect", "Option", "Program", "Reader", "Reading", "Use", "names", "program"]

Effect = Literal["read", "write", "network", "execute", "config"]
"""What an option does. `execute` runs what it is given, `config` loads settings that could."""
Base = Literal["read", "write", "network", "code", "script", "shell"]
"""What a program is for. `code` runs whatever it is given, `script` a file of shell commands, and
`shell` changes what later commands mean."""
Value = Literal["none", "required", "unless_last", "optional", "attached"]

_OPTION = re.compile(r"(?P<names>-[^=\[]+?)\s*((?P<value>\[=\]|==|=\?|=)(?P<choices>[\w|.-]+)?)?$")
_FLAGS = re.compile(r"-[A-Za-z0-9#@?]{2,}")
_VALUES: dict[str | None, Value] = {
    None: "none", "[=]": "optional", "=": "required", "=?": "unless_last", "==": "attached",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One option of a program, under all its names."""

    names: tuple[str, ...]
    value: Value = "none"
    choices: frozenset[str] = frozenset()
    """The values that are understood; any, when there are none. One that may be left out, may be."""
    effect: Effect = "read"


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """Something that a command does, and the word that makes it do so."""

    effect: Effect
    at: int
    what: str


@dataclass(slots=True, kw_only=True)
class Reading:
    """The words of one command as its program reads them."""

    purpose: Base
    """What the program, or its sub-command, is for."""
    base: Base
    """What it is used for with these words."""
    start: int = 1
    """Where its words begin."""
    uses: list[Use] = field(default_factory=list)
    options: list[tuple[Option, Word | None]] = field(default_factory=list)
    """Those that were given, with their values."""
    arguments: list[int] = field(default_factory=list)
    """Positions of the words that are not options."""
    dashes: int | None = None
    """Where `--` stands; what is behind it is no option."""
    command: int | None = None
    """Where a command begins that this program runs."""
    commands: list[tuple[int, int]] = field(default_factory=list)
    """Where further commands begin and end, like those of `find -exec`."""
    adds_arguments: bool = False
    """Whether the command gets arguments that are not known here."""
    at_once: bool = False
    """Whether its commands go on beside each other, or beside what comes after it."""
    placeholder: str = ""
    """What stands for such an argument, where it does not come last."""
    code: list[int] = field(default_factory=list)
    """Positions of words that a shell reads."""

    def given(self, *names: str) -> bool:
        """Whether an option was given under one of its names."""
        return any(name in option.names for option, _ in self.options for name in names)

    def cancel(self, name: str) -> None:
        """Forget an option that a later one took back."""
        self.options = [(o, value) for o, value in self.options if name not in o.names]

    def values(self, *names: str) -> list[Word]:
        """The values given with an option."""
        return [v for o, v in self.options if v is not None and set(names) & set(o.names)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """How one program reads its words."""

    name: str
    base: Base
    options: Mapping[str, Option]
    arguments: int | None = None
    """How many it takes at most; any number, when None."""
    output: int | None = None
    """Which argument is a file that it writes, counted from 0."""
    command: int | None = None
    """How many arguments stand before the command that it runs."""
    permutes: bool = True
    """Whether options may stand behind arguments; if not, what stands there is an argument."""
    bundles: bool = True
    """Whether short options may be written together."""
    attaches: bool = True
    """Whether the value of a long option may be attached with `=`."""
    glues: bool = True
    """Whether the value of a short option may be written without a space; if not, a letter is an option."""
    numbers: bool = False
    """Whether `-5` is an option."""
    behind_numbers: str = ""
    """Letters of which some may stand behind such a number."""
    negates: bool = False
    """Whether `--no-x` is understood for every flag `--x`."""
    commands: "Mapping[str, Program]" = field(default_factory=dict)
    """Its sub-commands."""
    default: str = ""
    """The sub-command that is meant when none is named but options are."""
    rereads: bool = False
    """Whether it reads its words more than once, so that what looks like an option never is a value."""
    response_files: bool = False
    """Whether a word `@file` stands for the words in that file."""
    quiet: tuple[str, ...] = ()
    """Words put behind its name, so that it loads no settings."""
    partial: bool = False
    """Whether it has options that the table does not name; what they do is not known."""
    anything: bool = False
    """Whether no argument at all makes it do more than it is for."""
    raw: bool = False
    """Whether its words have an order of their own, which only its `reader` knows."""
    reader: "Reader | None" = None
    """Looks at the words beyond their order, or reads them in its own way."""

    @property
    def is_tame(self) -> bool:
        """Whether no further argument could make it do more than it is for."""
        if self.anything:
            return True
        harmful = {"execute", "config"} | (set() if self.base == "write" else {"write", "network"})
        plain = self.output is None and self.command is None and not self.commands
        plain = plain and not self.response_files and not self.partial
        settled = self.base in ("read", "write") and plain and self.reader is None
        return settled and not any(o.effect in harmful for o in self.options.values())


Reader = Callable[[Program, Sequence[Word], Reading], None]
"""Completes a reading; raises `NotCovered` for what it does not understand."""


def program(
    names: str,
    reads: str = "",
    *,
    base: Base = "read",
    writes: str = "",
    network: str = "",
    executes: str = "",
    config: str = "",
    arguments: int | None = None,
    output: int | None = None,
    command: int | None = None,
    permutes: bool = True,
    bundles: bool = True,
    attaches: bool = True,
    glues: bool = True,
    numbers: bool = False,
    behind_numbers: str = "",
    negates: bool = False,
    commands: Sequence[Sequence[Program]] = (),
    default: str = "",
    rereads: bool = False,
    response_files: bool = False,
    quiet: Sequence[str] = (),
    partial: bool = False,
    anything: bool = False,
    raw: bool = False,
    reader: Reader | None = None,
) -> list[Program]:
    """Programs that read their words in the same way, `names` separated by spaces."""
    groups: dict[Effect, str] = {
        "read": reads, "write": writes, "network": network, "execute": executes, "config": config,
    }  # fmt: skip
    options = {
        name: option
        for effect, text in groups.items()
        for option in _options(text, effect, bundles)
        for name in option.names
    }
    return [
        Program(
            name=name,
            base=base,
            options=options,
            arguments=arguments,
            output=output,
            command=command,
            permutes=permutes,
            bundles=bundles,
            attaches=attaches,
            glues=glues,
            numbers=numbers,
            behind_numbers=behind_numbers,
            negates=negates,
            commands={one.name: one for group in commands for one in group},
            default=default,
            rereads=rereads,
            response_files=response_files,
            quiet=tuple(quiet),
            partial=partial,
            anything=anything,
            raw=raw,
            reader=reader,
        )
        for name in names.split()
    ]


def names(text: str) -> frozenset[str]:
    """Names that are separated by spaces."""
    return frozenset(text.split())


def _options(text: str, effect: Effect, bundles: bool) -> list[Option]:
    parts = [part for part in text.split(",") if part.strip()]
    return [one for part in parts for one in _option(part, effect, bundles)]


def _option(text: str, effect: Effect, bundles: bool) -> list[Option]:
    found = _OPTION.fullmatch(" ".join(text.split()))
    if found is None:
        raise ValueError(f"This option of a table cannot be read: {text!r}.")
    names = tuple(found["names"].split())
    choices = frozenset(found["choices"].split("|")) if found["choices"] else frozenset()
    several = len(names) == 1 and bundles
    if several and _FLAGS.fullmatch(names[0]) and found["value"] is None:
        return [Option(names=(f"-{letter}",), effect=effect) for letter in names[0][1:]]
    return [Option(names=names, value=_VALUES[found["value"]], choices=choices, effect=effect)]
