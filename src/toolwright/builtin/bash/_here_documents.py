"""Take the here-documents out of a command line, before the parser sees it.

The parser finds ends in them that are none. What it reads instead are files named by a mark, for
which the text is put back when the rest is understood. On the way, what it misreads before a
redirection is written in another way: a word that touches one is set apart (`sort -ox2>&1`), a `-` of
its own is quoted, and the `0` of `0<` is left out.
"""

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from toolwright.builtin.bash._script import Redirect, Script, SimpleCommand
from toolwright.builtin.bash._words import Refused

__all__ = ["put_back", "taken_out"]

_DELIMITER = re.compile(
    r"""[ \t]*(?:([A-Za-z0-9_.-]+)|(?:'([A-Za-z0-9_.-]+)'|"([A-Za-z0-9_.-]+)"|\\([A-Za-z0-9_.-]+)))"""
    r"(?=[\s;&|<>()`]|$)"
)
_NO_OPERATOR = re.compile(
    r"[\w./=]+|\\.|'[^']*'|\$'(?:\\.|[^'\\])*'|\$\(\([^()]*\)\)|<<<|(?<![^\s;&|()`])#[^\n]*", re.S
)
"""Where `<<` is no operator: in plain text, behind a backslash, in quotes, sums and comments."""
_STANDARD_INPUT = re.compile(r"(?<=[^\\][ \t])0(?=<)")
_LONE_DASH = re.compile(r"(?<=[ \t])-(?=[\s;&|<>()`]|$)")
_WORD_BEFORE = re.compile(r"[^\s;&|<>()`]+\Z")
_DESCRIPTOR = re.compile(r"[0-9]+|\{.*\}")
_IN_DOUBLE = re.compile(r'\\.|[^\\"$`]+', re.S)
_OPENING = {"$(": ")", "(": ")", '"': '"', "`": "`"}


@dataclass(frozen=True, slots=True)
class _Document:
    """A here-document whose text is on the lines that follow."""

    mark: str
    operator: str
    delimiter: str
    expands: bool


def taken_out(source: str) -> tuple[str, dict[str, Redirect]]:
    """The command line with a file for each here-document, and the texts for these files.

    Raises `Refused` for one whose text the shell might read differently. Where this loses its way in
    quotes, the parser refuses, or what it reads is judged and run: the source itself never is.
    """
    reader = _Reader(source)
    return "".join(reader.pieces()), reader.texts


def put_back(script: Script, texts: Mapping[str, Redirect]) -> None:
    """Put each text in the place of its file; raises `Refused` when it has lost one."""
    if _put_back(script, texts) < len(texts):
        raise Refused("a here-document that is not the standard input of a command is not judged")


def _put_back(script: Script, texts: Mapping[str, Redirect]) -> int:
    found = 0
    for index, piece in enumerate(script.pieces):
        if isinstance(piece, SimpleCommand):
            for inner in (inner for word in piece.words for inner in word.scripts):
                found += _put_back(inner, texts)
        elif isinstance(piece, Redirect) and piece.rendered in texts:
            script.pieces[index] = texts[piece.rendered]
            script.operators.add(texts[piece.rendered].operator)
            found += 1
    if not any(isinstance(piece, Redirect) and piece.operator == "<" for piece in script.pieces):
        script.operators.discard("<")
    return found


class _Reader:
    """Reads a command line once, from left to right."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._at = 0
        self._closing: list[str] = []
        """What ends the quotes and substitutions that are open."""
        self._awaited: list[_Document] = []
        self._prefix = "here"
        while self._prefix in source:
            self._prefix += "-document"
        self.texts: dict[str, Redirect] = {}

    def pieces(self) -> Iterator[str]:
        """The command line, piece by piece."""
        while self._at < len(self._source):
            if self._redirects_behind_a_word():
                yield " "
            yield self._next()
        if self._awaited:
            raise _unended(self._awaited[0].delimiter)

    def _redirects_behind_a_word(self) -> bool:
        if self._closing[-1:] == ['"'] or self._source[self._at] not in "<>":
            return False
        before = _WORD_BEFORE.search(self._source, max(0, self._at - 40), self._at)
        return before is not None and not _DESCRIPTOR.fullmatch(before[0])

    def _next(self) -> str:
        double = self._closing[-1:] == ['"']
        if not double and _STANDARD_INPUT.match(self._source, self._at):
            self._at += 1
            return ""
        if found := (_IN_DOUBLE if double else _NO_OPERATOR).match(self._source, self._at):
            return self._taken(found.end())
        if not double and _LONE_DASH.match(self._source, self._at):
            self._at += 1
            return "'-'"
        rest = self._source[self._at : self._at + 2]
        if self._closing and rest[:1] == self._closing[-1]:
            return self._close()
        opening = rest if rest in _OPENING else rest[:1]
        if opening in _OPENING and (not double or opening in ("$(", "`")):
            self._closing.append(_OPENING[opening])
            return self._taken(self._at + len(opening))
        if rest == "<<" and not double:
            return self._operator()
        if rest[:1] == "\n" and self._awaited:
            self._at += 1
            self._read_texts()
            return "\n"
        return self._taken(self._at + 1)

    def _taken(self, end: int) -> str:
        piece, self._at = self._source[self._at : end], end
        return piece

    def _close(self) -> str:
        if self._awaited and self._closing[-1] != '"':
            raise _unended(self._awaited[0].delimiter)
        self._closing.pop()
        return self._taken(self._at + 1)

    def _operator(self) -> str:
        operator = "<<-" if self._source.startswith("<<-", self._at) else "<<"
        self._at += len(operator)
        found = _DELIMITER.match(self._source, self._at)
        if found is None:
            start = self._source[self._at :].split(maxsplit=1)[:1]
            raise Refused(f"the end of the here-document, {''.join(start)[:60]!r}, is not a plain "
                          "word; write <<'EOF'")  # fmt: skip
        self._at = found.end()
        delimiter = next(word for word in found.groups() if word is not None)
        mark = f"{self._prefix}{len(self.texts) + len(self._awaited)}"
        self._awaited.append(_Document(mark, operator, delimiter, found[1] is not None))
        return f"< {mark}"

    def _read_texts(self) -> None:
        for document in self._awaited:
            text = "".join(self._lines(document))
            if document.expands and re.search(r"[$`\\]", text):
                name = document.delimiter
                raise Refused(f"the here-document {name} holds an expansion; write <<'{name}'")
            # A here-string brings the last line's end itself, also where there is no line.
            here = f" <<< {shlex.quote(text[:-1])}" if text else " < /dev/null"
            self.texts[f" < {document.mark}"] = Redirect(document.operator, here)
        self._awaited = []

    def _lines(self, document: _Document) -> Iterator[str]:
        while self._at < len(self._source):
            line, _, _ = self._source[self._at :].partition("\n")
            self._at += len(line) + 1
            line = line.lstrip("\t") if document.operator == "<<-" else line
            if line == document.delimiter:
                return
            yield f"{line}\n"
        raise _unended(document.delimiter)


def _unended(delimiter: str) -> Refused:
    return Refused(f"the here-document does not end where a line is {delimiter!r} and no more")
