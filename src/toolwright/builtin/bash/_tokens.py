"""Split a command line into tokens by the shell's own rules, to check what a parser made of it.

Words stay as they are written. What is between the quotes and parentheses of a word is passed over:
only where it ends matters.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import zip_longest
from typing import Literal

from toolwright.builtin.bash._words import Refused

__all__ = ["Token", "one_word", "refuse_unread"]

Token = tuple[Literal["a word", "a descriptor", "an operator"], str]
"""What it is to the shell, and its text. A descriptor is a number, or a name in braces, directly before
a redirection: no argument.
"""

_BLANK = re.compile(r"(?:[ \t]|\\\n)*(?:#[^\n]*)?")
_OPERATOR = re.compile(
    r"&&|\|\||;;&|;;|;&|\|&|&>>|&>|<<<|<<-|<<|>>|>\||>&-|<&-|>&|<&|<>|[;&|<>()\n]"
)
_NUMBER = re.compile(r"[0-9]+|\{[A-Za-z_]\w*(\[.*\])?\}")
_PIECE = re.compile(
    r"""(?P<continued>\\\n)|\\.|'[^']*'|\$'(?:\\.|[^'\\])*'|`(?:\\.|[^`\\])*`|(?P<open>\$\(|")"""
    r"""|[^ \t\n;&|<>()'"`\\]""",
    re.S,
)
_INSIDE = {
    '"': re.compile(r"""\\.|`(?:\\.|[^`\\])*`|(?P<open>\$\()|[^"\\`]""", re.S),
    ")": re.compile(
        r"""\\.|'[^']*'|`(?:\\.|[^`\\])*`|(?<=[ \t\n;&|(])\#[^\n]*|(?P<open>\(|")|[^)'"`\\]""", re.S
    ),
}
"""What goes on, by what ends it; what is opened in it, ends by itself."""
_CLOSING = {'"': '"', "(": ")", "$(": ")"}
_END: Token = ("an operator", ";")
_LINE_END: Token = ("an operator", "\n")
_ENDED = frozenset({")", ">&-", "<&-"})
"""Operators behind which a command can end."""


def refuse_unread(source: str, read: Iterable[Token]) -> None:
    """Raise `Refused` unless these are the tokens of a command line, every one, in this order."""
    shell, reader = _ends_once(_tokens(source)), _ends_once(read)
    if shell != reader:
        differs = (token for token, other in zip_longest(shell, reader) if token != other)
        kind, text = next(differs) or ("word", "its end")
        raise Refused(f"{text[:60]!r} would be {kind} to the shell and was read differently; set it "
                      "apart with spaces, or quote it with ''")  # fmt: skip


def one_word(source: str) -> Token:
    """The token of a word as it was written; what is none, is one that the shell does not find."""
    tokens = list(_tokens(source))
    return tokens[0] if [kind for kind, _ in tokens] == ["a word"] else ("a word", source)


def _tokens(source: str) -> Iterator[Token]:
    at = _past_blanks(source, 0)
    while at < len(source):
        if found := _OPERATOR.match(source, at):
            yield "an operator", found[0]
            at = found.end()
        else:
            word, at = _word(source, at)
            redirected = source.startswith(("<", ">"), at)
            yield "a descriptor" if redirected and _NUMBER.fullmatch(word) else "a word", word
        at = _past_blanks(source, at)


def _past_blanks(source: str, at: int) -> int:
    found = _BLANK.match(source, at)
    return found.end() if found else at


def _word(source: str, at: int) -> tuple[str, int]:
    """A word without the ends of lines that it goes on behind, and where it ends."""
    pieces: list[str] = []
    while piece := _PIECE.match(source, at):
        start, at = at, _piece_end(source, piece)
        pieces += [] if piece["continued"] else [source[start:at]]
    if at < len(source) and not (source[at] in " \t\n" or _OPERATOR.match(source, at)):
        raise _unended(source[at:])
    return "".join(pieces), at


def _piece_end(source: str, piece: re.Match[str]) -> int:
    """Where a piece of a word ends, with all that is opened in it."""
    at, closing = piece.end(), _CLOSING.get(piece["open"] or "")
    while closing and not source.startswith(closing, at):
        inner = _INSIDE[closing].match(source, at)
        if inner is None:
            raise _unended(source[piece.start() :])
        at = _piece_end(source, inner)
    return at + len(closing or "")


def _unended(text: str) -> Refused:
    return Refused(f"{text[:60]!r} is not understood; quote each word as a whole with ''")


def _ends_once(tokens: Iterable[Token]) -> list[Token]:
    """Each end of a command once, whatever it is, and none where there is nothing to end."""
    kept: list[Token] = [_END]
    for token in tokens:
        if token[1] in (")", "}") and kept[-1] == _END:
            kept.pop()
        if token not in (_END, _LINE_END):
            kept.append(token)
        elif kept[-1][0] != "an operator" or kept[-1][1] in _ENDED:
            kept.append(_END)
    return kept[1:-1] if kept[-1] == _END else kept[1:]
