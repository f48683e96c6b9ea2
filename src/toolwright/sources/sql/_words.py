"""The words of one SQL statement, told apart from its strings and comments as the server does it.

This decides nothing about meaning. It follows the lexical rules of Postgres and MySQL (`scan.l`,
`sql_lex.cc`), and where a rule is obscure the statement is refused rather than guessed at.
"""

import re
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from toolwright.errors import ToolError

__all__ = ["Word", "mysql_words", "placeholders", "postgres_words"]

_LONGEST = 100_000
_SPACE = r"[ \t\n\r\f\v]+"
_IDENTIFIER = r"[A-Za-z_\x80-\U0010ffff][A-Za-z0-9_$\x80-\U0010ffff]*"
_ESCAPED = r"'(?:[^'\\]|\\.|'')*'"
_CONTINUED = r"(?:[ \t\f\v]|--[^\n\r]*)*[\n\r](?:[ \t\n\r\f\v]|--[^\n\r]*[\n\r])*"
_BIND = r"(?<![\w:]):(?P<bind>[A-Za-z_][A-Za-z0-9_]*)"

_POSTGRES = re.compile(
    rf"""
    (?P<skip>{_SPACE}|--[^\n\r]*)
  | (?P<comment>/\*)
  # Each piece of a string that goes on in another line follows the rules of the first.
  | (?P<string>[eE]{_ESCAPED}(?:{_CONTINUED}{_ESCAPED})*|(?:[bBxXnN]|[uU]&)?'(?:[^']|'')*')
  | (?P<dollar>\$(?:[A-Za-z_\x80-\U0010ffff][A-Za-z0-9_\x80-\U0010ffff]*)?\$)
  | (?P<obscure>[uU]&")
  | "(?P<quoted>(?:[^"]|"")+)"
  | (?P<word>{_IDENTIFIER})
  # Digits only: what follows them (1e5, 0x1f) then counts as a word, which is on the safe side.
  | (?P<number>[0-9]+)
  | {_BIND}
  | (?P<operator>(?:(?!--|/\*)[-+*/<>=~!@\#%^&|`?])+)
  | (?P<open>['"])
  | (?P<symbol>::|.)
    """,
    re.VERBOSE | re.DOTALL,
)
_MYSQL = re.compile(
    rf"""
    (?P<skip>{_SPACE}|\#[^\n]*|--(?=[\x00-\x20\x7f]|\Z)[^\n]*)
  | (?P<obscure>/\*(?:!|[mM]!|\+))
  | (?P<comment>/\*)
  | (?P<string>'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*")
  | `(?P<quoted>(?:[^`]|``)+)`
  # After a number or an @ a word is no name, but it is on the safe side to take it for one.
  | (?P<word>{_IDENTIFIER})
  | (?P<number>[0-9]+)
  | {_BIND}
  | (?P<open>['"`])
  | (?P<symbol>:=|.)
    """,
    re.VERBOSE | re.DOTALL,
)
_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
_Kind = Literal["word", "quoted", "string", "number", "bind", "operator", "symbol"]


@dataclass(frozen=True, slots=True)
class Word:
    """One piece of a statement that is neither space nor comment."""

    kind: _Kind
    text: str
    """A plain word in lower case, a quoted one without its quotes; else as it was written."""
    start: int
    end: int

    @property
    def is_name(self) -> bool:
        """Whether it can name something."""
        return self.kind in ("word", "quoted")


def postgres_words(query: str) -> list[Word]:
    """The words of the one statement in `query`; `standard_conforming_strings` must be on."""
    return _one_statement(_words(query, _POSTGRES, '"', nested=True))


def mysql_words(query: str) -> list[Word]:
    """The words of the one statement in `query`; backslashes escape, double quotes make strings."""
    return _one_statement(_words(query, _MYSQL, "`", nested=False))


def placeholders(query: str, words: Sequence[Word], values: Mapping[str, Any]) -> str:
    """`query` without what follows its last word, each `:name` as the drivers want it.

    Between spaces: what the driver puts there must not become one word with its neighbours, as a
    `$` before Postgres's own `$1` would.
    """
    pieces, done = [], 0
    for word in words:
        if word.kind == "bind":
            if word.text not in values:
                raise ToolError(
                    f"Refused: the query has :{word.text}, but parameters has no {word.text!r}."
                )
            pieces += [query[done : word.start].replace("%", "%%"), f" %({word.text})s "]
            done = word.end
    pieces.append(query[done : words[-1].end].replace("%", "%%"))
    return "".join(pieces)


def _words(query: str, rules: re.Pattern[str], quote: str, *, nested: bool) -> list[Word]:
    if len(query) > _LONGEST:
        raise ToolError(
            f"Refused: the query has {len(query)} characters; at most {_LONGEST} are read."
        )
    found: list[Word] = []
    at = 0
    while at < len(query):
        match = rules.match(query, at)
        assert match is not None  # its last rule takes any character
        kind, at = str(match.lastgroup), match.end()
        if kind == "comment":
            at = _after_comment(query, at, nested=nested)
        elif kind == "dollar":
            at = _after_dollars(query, at, match.group())
            found.append(Word("string", "", match.start(), at))
        elif kind in ("open", "obscure"):
            raise ToolError(_unreadable(match.group(), kind))
        elif kind != "skip":
            found.append(Word(kind, _text(match, kind, quote), match.start(), at))  # type: ignore[arg-type]
    return found


def _text(match: re.Match[str], kind: str, quote: str) -> str:
    text = match.group(kind)
    if kind == "word":  # ASCII only, as the servers do: a Kelvin sign is not a k
        return text.translate(_LOWER)
    return text.replace(quote * 2, quote) if kind == "quoted" else text


def _unreadable(text: str, kind: str) -> str:
    if kind == "open":
        return f"Refused: the query has a {text} that is not closed."
    return f"Refused: the query has {text!r}, which is not read here; write it plainly."


def _after_comment(query: str, at: int, *, nested: bool) -> int:
    """Where the comment ends whose first two characters are before `at`."""
    depth = 1
    for match in re.compile(r"/\*|\*/").finditer(query, at):
        depth += 1 if match.group() == "/*" and nested else 0
        depth -= 1 if match.group() == "*/" else 0
        if not depth:
            return match.end()
    raise ToolError("Refused: the query has a comment that is not closed.")


def _after_dollars(query: str, at: int, tag: str) -> int:
    end = query.find(tag, at)
    if end < 0:
        raise ToolError(f"Refused: the query has a {tag} that is not closed.")
    return end + len(tag)


def _one_statement(words: list[Word]) -> list[Word]:
    while words and words[-1].text == ";" and words[-1].kind == "symbol":
        words.pop()
    if not words:
        raise ToolError("Refused: the query is empty; give one statement.")
    if any(word.text == ";" and word.kind == "symbol" for word in words):
        raise ToolError("Refused: the query has several statements; give one at a time.")
    return words
