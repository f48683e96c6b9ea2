"""A command line as it was understood: simple commands, redirects, and what stands between them."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from toolwright.builtin.bash._tokens import Token, one_word
from toolwright.builtin.bash._words import Word

__all__ = ["INPUT", "OUTPUT", "Operator", "Redirect", "Script", "SimpleCommand"]

OUTPUT = frozenset({">", ">>", ">|", "&>", "&>>", ">&"})
INPUT = frozenset({"<"})


@dataclass(frozen=True, slots=True)
class Operator:
    """What joins, ends or encloses commands."""

    tokens: tuple[Token, ...]
    """As it stood in the command line."""
    rendered: str


@dataclass(frozen=True, slots=True)
class Redirect:
    """Where one descriptor of a command leads."""

    operator: str
    rendered: str
    target: str | None = None
    """The file, when it is one."""
    before: str = ""
    """What stands before the file."""
    after: str = ""
    """What stands behind it."""
    tokens: tuple[Token, ...] = ()
    """As it stood in the command line."""

    @property
    def writes(self) -> bool:
        """Whether a file is written."""
        return self.operator in OUTPUT and self.target is not None


@dataclass(frozen=True, slots=True)
class SimpleCommand:
    """One program or builtin and its arguments."""

    words: tuple[Word, ...]
    variables: tuple[tuple[str, Word], ...] = ()
    """Names and certain values that are set for this command alone."""

    @property
    def assignments(self) -> tuple[str, ...]:
        """What stands before the program."""
        return tuple(f"{name}={value.text}" for name, value in self.variables)

    @property
    def tokens(self) -> tuple[Token, ...]:
        """As it stood in the command line."""
        given = [f"{name}={value.source}" for name, value in self.variables]
        return tuple(map(one_word, (*given, *(word.source for word in self.words))))

    @property
    def argv(self) -> tuple[str, ...]:
        """The arguments as far as they are certain, otherwise as they were written."""
        return tuple(word.source if word.text is None else word.text for word in self.words)


@dataclass(slots=True)
class Script:
    """Simple commands and what stands between them, in order."""

    pieces: list[SimpleCommand | Redirect | Operator] = field(default_factory=list)
    operators: set[str] = field(default_factory=set)

    def tokens(self) -> list[Token]:
        """All that was read, as it stood in the command line."""
        return [token for piece in self.pieces for token in piece.tokens]

    def commands(self) -> Iterator[SimpleCommand]:
        """All commands, those inside substitutions first."""
        for piece in self.pieces:
            if isinstance(piece, SimpleCommand):
                for script in (s for word in piece.words for s in word.scripts):
                    yield from script.commands()
                yield piece

    def redirects(self) -> Iterator[Redirect]:
        """All redirects, those inside substitutions included."""
        for piece in self.pieces:
            if isinstance(piece, Redirect):
                yield piece
            elif isinstance(piece, SimpleCommand):
                for script in (s for word in piece.words for s in word.scripts):
                    yield from script.redirects()

    def all_operators(self) -> set[str]:
        """The operators used anywhere."""
        inner = [s.all_operators() for c in self.commands() for w in c.words for s in w.scripts]
        return self.operators.union(*inner)
