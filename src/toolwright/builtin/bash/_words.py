"""The words of a command line: what each will be when the shell has read it, if that is certain."""

import re
import shlex
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolwright.builtin.bash._script import Script

__all__ = ["NotCovered", "Refused", "Word", "bare_word", "option_like", "unescape_double"]

_ESCAPED = re.compile(r"\\(.)", re.S)
_GLOB = re.compile(r"\\.|(?P<glob>[*?]|\[[!^]?[A-Za-z0-9_.-]+\])", re.S)
_NO_DASH = re.compile(r"\[([a-z]-[a-z]|[A-Z]-[A-Z]|[0-9]-[0-9]|[A-Za-z0-9_.])+\]")
"""A set of characters that has no dash in it, in whatever order the language has them."""

_HOME_INSIDE = re.compile(r"[A-Za-z_]\w*=(.*:)?~")
"""What looks like an assignment is one to bash as far as it expands a `~` in it."""


class Refused(Exception):
    """The command line holds something this reader does not vouch for; the text says what."""


class NotCovered(Refused):
    """A program's words do more than a prefix allows, or it is not known what they do."""


@dataclass(frozen=True, slots=True)
class Word:
    """One argument: its text when that is certain, and how to write it so that nothing else is read."""

    source: str
    """As it stood in the command line."""
    parts: "tuple[str | Script, ...]"
    """Text ready for the shell, and the commands whose output comes between."""
    text: str | None = None
    """None when only running can tell: a pattern, or the output of a command."""
    start: str = ""
    """What it certainly begins with, when the whole is not certain."""
    several: bool = False
    """Whether it can become more than one argument."""
    dashless: bool = False
    """Whether it begins with no dash, though it is not certain with what."""

    @classmethod
    def literal(cls, text: str) -> "Word":
        """A word that is exactly `text`."""
        return cls(text, (shlex.quote(text),), text)

    @classmethod
    def join(cls, words: "list[Word]", source: str) -> "Word":
        """Words written without a space between them."""
        texts = [word.text for word in words if word.text is not None]
        whole = "".join(texts) if len(texts) == len(words) else None
        certain = [word.text for word in takewhile(lambda word: word.text is not None, words)]
        start = "".join(text for text in certain if text is not None)
        if len(certain) < len(words):
            start += words[len(certain)].start
        parts = tuple(part for word in words for part in word.parts)
        several = any(word.several for word in words)
        dashless = next((word.dashless for word in words if word.text != ""), False)
        return cls(source, parts, whole, start, several, dashless)

    def holding(self, mark: str) -> "Word":
        """The same word when something unknown is put in the place of `mark`."""
        if self.text is None or mark not in self.text:
            return self
        start = self.text.partition(mark)[0]
        return Word(self.source, self.parts, start=start)

    @property
    def scripts(self) -> "tuple[Script, ...]":
        """The commands whose output becomes a part of this word."""
        return tuple(part for part in self.parts if not isinstance(part, str))

    @property
    def could_be_option(self) -> bool:
        """Whether a program could take it, or what it becomes, for an option."""
        if self.text is None:
            return self.start.startswith("-") or not (self.start or self.dashless)
        return self.text.startswith("-") and self.text != "-"


def bare_word(source: str, *, first: bool = True) -> Word:
    """An unquoted word; `first` when it begins its argument."""
    if re.search(r"(?<!\\)(?:\\\\)*[$`{}]", source):
        raise Refused(f"{source!r} holds an expansion; write the value itself, or quote it with ''")
    if re.search(r"[\s;&|<>()'\"]|\\\Z", _ESCAPED.sub("", source)):
        raise Refused(f"{source!r} is not understood; quote it with ''")
    if first and _HOME_INSIDE.match(source):
        raise Refused(f"{source!r} holds a '~' that the shell would read; write the whole path")
    if first and source.startswith("~"):
        return _home_word(source)
    if re.search(r"[*?\[\]]", _GLOB.sub("", source)):
        raise Refused(f"{source!r} holds a pattern that is not understood; quote it with ''")
    globs = _globs(source)
    return _pattern(source, globs, first=first) if globs else Word.literal(unescape(source))


def _globs(source: str) -> list[re.Match[str]]:
    return [found for found in _GLOB.finditer(source) if found["glob"]]


def unescape(source: str) -> str:
    """Take the backslashes away; one before a line's end takes that away as well."""
    return _ESCAPED.sub(lambda found: "" if found[1] == "\n" else found[1], source)


def unescape_double(source: str) -> str:
    """The same inside double quotes, where a backslash quotes only a few characters."""
    return re.sub(r'\\([$`"\\\n])', lambda found: "" if found[1] == "\n" else found[1], source)


def _home_word(source: str) -> Word:
    name, slash, rest = source.partition("/")
    if not re.fullmatch(r"~[A-Za-z0-9_-]*", name) or _globs(rest):
        raise Refused(f"{source!r} is not understood; write the whole path")
    return Word(source, (f"{name}{slash}{_quoted(rest)}",), start="/")


def _pattern(source: str, globs: list[re.Match[str]], *, first: bool) -> Word:
    """A pattern; one that begins with an option is that text, whatever files there are."""
    start = unescape(source[: globs[0].start()])
    if first and re.match("-.", start):
        return Word.literal(unescape(source))
    pieces: list[str] = []
    position = 0
    for found in globs:
        pieces += [_quoted(source[position : found.start()]), found[0]]
        position = found.end()
    dashless = not start and _NO_DASH.match(globs[0][0]) is not None
    parts = (*pieces, _quoted(source[position:]))
    return Word(source, parts, start=start, several=True, dashless=dashless)


def option_like(source: str) -> NotCovered:
    """Why a pattern is refused that could match a file named like an option."""
    return NotCovered(f"the pattern {source!r} could match a file named like an option; write "
                      f"'./{source}' for files, or quote it where the program reads the pattern")  # fmt: skip


def _quoted(source: str) -> str:
    return shlex.quote(unescape(source)) if source else ""
