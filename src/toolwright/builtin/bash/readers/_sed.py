"""Read a sed script: which of its commands run programs or write files.

Sed programs differ in whether a delimiter between brackets ends a pattern. Where one stands there, the
script is read in both ways, and what it does in either counts. One of the two is usually a mistake to every
sed: it is left out, as long as the other can be read to its end. What is not plain is not read at all.
"""

import re
from collections.abc import Sequence

from toolwright.builtin.bash._grammar import Effect, Program, Reading, Use
from toolwright.builtin.bash._words import NotCovered, Word

__all__ = ["read_sed"]

_SPACE = re.compile(r"[ \t]*")
_BETWEEN = re.compile(r"[ \t\n;]*")
_LABEL = re.compile(r"[ \t]*[A-Za-z0-9_.-]*(?!\}+#)")
"""A brace ends it, or is a part of it; then what looks like a comment behind it would be as well."""
_LINE = re.compile(r"[^\n]*")
_NUMBER = re.compile(r"\d*")
_ADDRESS = re.compile(r"\d+(~\d+)?|\$|[+~]\d+")
_FLAGS = re.compile(r"[egpiImM0-9]*")
_TEXT = re.compile(r"[ \t]*+(\\\n)?+([^\\\n]|\\[^\n])*+(?=\n|\Z)")
_BRACKETS = re.compile(r"\^?\]?(\[:[a-z]+:\]|\\[^\]\\\n]|[^\[\]\\\n])*\]")
_OUTPUTS = ("/dev/stdout", "/dev/stderr")
_DELIMITER = re.compile(r"[!-/:<=>?@^_`|~]")
_NO_FLAG = re.compile(r"[!-~]|\w")
_BEHIND_FLAGS = ("", " ", "\t", "\n", ";", "}", "#", "w")
_MOST = 64


def read_sed(program: Program, words: Sequence[Word], reading: Reading) -> None:
    """Every script that the options or the first argument give."""
    scripts = reading.values("-e", "--expression")
    if not scripts:
        if not reading.arguments:
            return
        scripts = [words[reading.arguments[0]]]
        at = reading.arguments[0]
    else:
        at = len(words) - 1
    texts = [word.text for word in scripts]
    if any(text is None for text in texts):
        raise NotCovered("the script of 'sed' is not written out plainly")
    script = "\n".join(text for text in texts if text is not None)
    for effect, what in sorted(_effects(script)):
        reading.uses.append(Use(effect=effect, at=at, what=what))


class _Impossible(Exception):
    """No sed accepts a script that reads like this."""


def _effects(script: str) -> set[tuple[Effect, str]]:
    """What the script does in any of its readings."""
    found: set[tuple[Effect, str]] = set()
    left: list[list[bool]] = [[]]
    understood = False
    for _ in range(_MOST):
        if not left:
            break
        reading = _Script(script, left.pop())
        understood = reading.is_read() or understood
        # Files to write are opened while a script is read, so what stands before a mistake counts.
        found |= set(reading.found)
        left += reading.others
    if left:
        raise NotCovered("the sed script can be read in too many ways")
    if not understood:
        raise NotCovered(f"the sed script {script[:60]!r} is not understood")
    return found


class _Script:
    """A cursor over a script, with what to answer where it can be read in two ways."""

    def __init__(self, text: str, answers: list[bool]) -> None:
        self._text = text
        self._at = 0
        self._answers = answers
        self._asked = 0
        self.others: list[list[bool]] = []
        """Answers that lead to readings other than this one."""
        self.found: list[tuple[Effect, str]] = []

    def is_read(self) -> bool:
        """Read up to the end; False at what is a mistake to every sed."""
        try:
            self._skip(_BETWEEN)
            while self._at < len(self._text):
                self._statement()
                self._skip(_BETWEEN)
        except _Impossible:
            return False
        return True

    def _statement(self) -> None:
        self._address()
        self._skip(_SPACE)
        while self._peek() == "!":
            self._at += 1
            self._skip(_SPACE)
        command = self._next()
        match command:
            case "{":
                return
            case "}":
                self._end()
            case "#":
                self._skip(_LINE)
            case "s":
                self._substitute()
            case "y":
                delimiter = self._next()
                self._part(delimiter, pattern=False)
                self._part(delimiter, pattern=False)
                self._end()
            case "a" | "i" | "c":
                if not self._skip(_TEXT):
                    raise self._unread()
            case "b" | "t" | "T" | ":":
                self._skip(_LABEL)
                self._end(comment=False)
            case "r" | "R":
                self._skip(_LINE)
            case "w" | "W":
                self._write()
            case "e":
                self.found.append(("execute", "the command 'e' of 'sed'"))
                self._skip(_LINE)
            case "l" | "q" | "Q" | "L":
                self._skip(_SPACE)
                self._skip(_NUMBER)
                self._end()
            case "=" | "d" | "D" | "F" | "g" | "G" | "h" | "H" | "n" | "N" | "p" | "P" | "x" | "z":
                self._end()
            case "]":  # The end of brackets of which a delimiter was taken for the end.
                raise _Impossible
            case _:
                raise self._unread()

    def _address(self) -> None:
        if not self._one_address():
            return
        self._skip(_SPACE)
        if self._peek() == ",":
            self._at += 1
            self._skip(_SPACE)
            if not self._one_address():
                raise self._unread()

    def _one_address(self) -> bool:
        if self._skip(_ADDRESS):
            return True
        if self._peek() not in ("/", "\\"):
            return False
        delimiter = self._next()
        if delimiter == "\\":
            delimiter = self._next()
        self._part(delimiter, pattern=True)
        while self._peek() in ("I", "M"):
            self._at += 1
        return True

    def _substitute(self) -> None:
        delimiter = self._next()
        self._part(delimiter, pattern=True)
        self._part(delimiter, pattern=False)
        start = self._at
        self._skip(_FLAGS)
        if self._peek() not in _BEHIND_FLAGS:
            raise _Impossible if _NO_FLAG.fullmatch(self._peek()) else self._unread()
        if "e" in self._text[start : self._at]:
            self.found.append(("execute", "the flag 'e' of sed's 's'"))
        if self._peek() == "w":
            self._at += 1
            self._write()
        else:
            self._end()

    def _write(self) -> None:
        self._skip(_SPACE)
        start = self._at
        self._skip(_LINE)
        name = self._text[start : self._at]
        if name not in _OUTPUTS:
            self.found.append(("write", f"the file {name!r} that 'sed' writes"))

    def _part(self, delimiter: str, *, pattern: bool) -> None:
        """Up to the delimiter; a backslash takes the next character with it."""
        if not _DELIMITER.fullmatch(delimiter):
            raise self._unread()
        doubtful = False
        while (character := self._next()) != delimiter or (doubtful and self._answer()):
            if character in ("", "\n"):
                raise _Impossible
            if character == "\\" and self._next() in ("", "\n" if pattern else ""):
                raise self._unread()
            if pattern and character == "[":
                doubtful = not self._brackets(delimiter) or doubtful

    def _brackets(self, delimiter: str) -> bool:
        """Pass a set of characters, if it plainly is one and holds no delimiter."""
        found = _BRACKETS.match(self._text, self._at)
        if found is None or delimiter in found[0].replace(f"\\{delimiter}", ""):
            return False
        self._at = found.end()
        return True

    def _answer(self) -> bool:
        """Whether the delimiter here is taken for a character of the pattern."""
        if self._asked == len(self._answers):
            self.others.append([*self._answers, True])
            self._answers = [*self._answers, False]
        self._asked += 1
        return self._answers[self._asked - 1]

    def _end(self, *, comment: bool = True) -> None:
        self._skip(_SPACE)
        ends = ("", "\n", ";", "}", "#") if comment else ("", "\n", ";", "}")
        if self._peek() not in ends:
            raise self._unread()

    def _skip(self, pattern: re.Pattern[str]) -> bool:
        found = pattern.match(self._text, self._at)
        if found is None:
            return False
        self._at = found.end()
        return True

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _next(self) -> str:
        character = self._peek()
        self._at += 1
        return character

    def _unread(self) -> NotCovered:
        rest = self._text[max(0, self._at - 1) : self._at + 30]
        return NotCovered(f"the sed script is not understood at {rest!r}")
