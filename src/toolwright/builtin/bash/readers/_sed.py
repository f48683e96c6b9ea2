"""Read a sed script: which of its commands run programs or write files.

A script is read as GNU and BSD sed both read it. Where they differ, or where it is not plain which
delimiter ends a part, it is not read at all.
"""

import re
from collections.abc import Sequence

from toolwright.builtin.bash._grammar import Effect, Program, Reading, Use
from toolwright.builtin.bash._words import NotCovered, Word

__all__ = ["read_sed"]

_SPACE = re.compile(r"[ \t]*")
_BETWEEN = re.compile(r"[ \t\n;]*")
_LABEL = re.compile(r"[ \t]*[A-Za-z0-9_.-]*")
_LINE = re.compile(r"[^\n]*")
_NUMBER = re.compile(r"\d*")
_ADDRESS = re.compile(r"\d+(~\d+)?|\$|[+~]\d+")
_FLAGS = re.compile(r"[gpiImM0-9]*")
_TEXT = re.compile(r"[ \t]*(\\\n)?[^\\\n]*(?=\n|$)")
_BRACKETS = re.compile(r"\^?\]?(\[:[a-z]+:\]|[^\[\]\n])*\]")
_OUTPUTS = ("/dev/stdout", "/dev/stderr")


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
    for effect, what in _Script(script).effects():
        reading.uses.append(Use(effect=effect, at=at, what=what))


class _Script:
    """A cursor over a script."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._found: list[tuple[Effect, str]] = []

    def effects(self) -> list[tuple[Effect, str]]:
        self._skip(_BETWEEN)
        while self._at < len(self._text):
            self._statement()
            self._skip(_BETWEEN)
        return self._found

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
                self._end()
            case "r" | "R":
                self._skip(_LINE)
            case "w" | "W":
                self._write()
            case "e":
                self._found.append(("execute", "the command 'e' of 'sed'"))
                self._skip(_LINE)
            case "l" | "q" | "Q" | "L":
                self._skip(_SPACE)
                self._skip(_NUMBER)
                self._end()
            case "=" | "d" | "D" | "F" | "g" | "G" | "h" | "H" | "n" | "N" | "p" | "P" | "x" | "z":
                self._end()
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
        self._skip(_FLAGS)
        if self._peek() == "e":
            self._found.append(("execute", "the flag 'e' of sed's 's'"))
            self._at += 1
            self._skip(_FLAGS)
        if self._peek() == "w":
            self._at += 1
            self._write()
        else:
            self._end()

    def _write(self) -> None:
        start = self._at
        self._skip(_LINE)
        name = self._text[start : self._at].strip()
        if name not in _OUTPUTS:
            self._found.append(("write", f"the file {name!r} that 'sed' writes"))

    def _part(self, delimiter: str, *, pattern: bool) -> None:
        """Up to the delimiter; a backslash takes the next character with it."""
        if delimiter in ("", "\n", "\\", " ", ";") or delimiter.isalnum() or delimiter in "[]{}":
            raise self._unread()
        while (character := self._next()) != delimiter:
            if character in ("", "\n"):
                raise self._unread()
            if character == "\\" and self._next() == "":
                raise self._unread()
            if pattern and character == "[":
                self._brackets(delimiter)

    def _brackets(self, delimiter: str) -> None:
        """A set of characters; GNU sed ends the part at a delimiter in it, others do not."""
        found = _BRACKETS.match(self._text, self._at)
        if found is None or delimiter in found[0] or "\\" in found[0]:
            raise self._unread()
        self._at = found.end()

    def _end(self) -> None:
        self._skip(_SPACE)
        if self._peek() not in ("", "\n", ";", "}", "#"):
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
