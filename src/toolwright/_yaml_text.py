"""Make of YAML 1.2 text what a YAML 1.1 parser reads in the same way.

The parser refuses characters that others take (DEL and the C1 controls), ends lines at characters
that are no line breaks any more (U+0085, U+2028, U+2029), and stumbles over tabs on lines that have
no indentation to tell. The former are hidden behind characters that it takes, and brought back in
the values; the latter are mended where it has stumbled.
"""

import codecs
import re

__all__ = ["YamlText"]

_ODD = re.compile("[\x7f-\x9f\u2028\u2029]")
_HIDDEN = [*map(chr, range(0x7F, 0xA0)), "\u2028", "\u2029", "\t"]
_PRIVATE_AREAS = (0xF0000, 0x100000, 0xE000)
"""Where a run of characters that stand for the hidden ones may be free."""
_BLOCK_HEADER = re.compile(r"(?:^|[\s:-])[|>][-+0-9]{0,2}[ \t]*(?:#.*)?$")
_TABS = re.compile(r"^ *+\t[ \t]*+$", re.M)
_IN_A_BLOCK = "where an indentation space is expected"
_STUMBLED = (_IN_A_BLOCK, "violates indentation", "cannot start any token")
"""What the parser says of tabs: in a block's text, in a text without quotes, before a value."""
_MENDS = 3
"""So many single lines are mended; after that, all that consist of blanks and tabs."""
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


class YamlText:
    """The text of one document, as the parser is given it; positions by line stay the same."""

    def __init__(self, text: str | bytes) -> None:
        text = _decoded(text) if isinstance(text, bytes) else text.removeprefix("\ufeff")
        self._stand_ins: dict[int, str] = {}
        self._mends = 0
        self.text = self._hidden(text) if _ODD.search(text) else text

    def shown(self, value: str) -> str:
        """A value of the parser's with the hidden characters in it again."""
        return value.translate(self._stand_ins) if self._stand_ins else value

    def mend(self, problem: str, line: int) -> bool:
        """Take away what the parser has stumbled over at this line; False if that is no tab."""
        if not any(stumbled in problem for stumbled in _STUMBLED) or self._mends > _MENDS:
            return False
        self._mends += 1
        if self._mends > _MENDS:
            self.text = _TABS.sub("", self.text)
            return True
        return self._mend_line(line, in_block=_IN_A_BLOCK in problem)

    def _mend_line(self, number: int, *, in_block: bool) -> bool:
        lines = self.text.split("\n")
        line = lines[number] if number < len(lines) else ""
        rest = line.lstrip(" \t")
        blanks = line[: len(line) - len(rest)]
        if "\t" not in blanks:
            return False
        if in_block and (rest.strip() or _begins_a_block(lines, number)):
            # The block's indentation ends before the tab, which belongs to its text.
            lines[number] = blanks.replace("\t", self._stand_in("\t")) + rest
        elif not rest.strip() or rest.startswith("#"):
            lines[number] = rest
        else:
            return False
        self.text = "\n".join(lines)
        return True

    def _hidden(self, text: str) -> str:
        table = {ord(char): self._stand_in(char, text) for char in set(_ODD.findall(text))}
        return text.translate(table)

    def _stand_in(self, char: str, text: str | None = None) -> str:
        """A character that is nowhere in the text; the same one for the same `char`."""
        text = self.text if text is None else text
        for start in _PRIVATE_AREAS:
            stand_in = chr(start + _HIDDEN.index(char))
            if self._stand_ins.get(ord(stand_in)) == char:
                return stand_in
            if stand_in not in text:
                self._stand_ins[ord(stand_in)] = char
                return stand_in
        raise ValueError(f"the text has {char!r} in it, and all characters that could hide it")


def _decoded(text: bytes) -> str:
    for mark, encoding in _MARKS:
        if text.startswith(mark):
            return text[len(mark) :].decode(encoding)
    return text.decode("utf-8")


def _begins_a_block(lines: list[str], number: int) -> bool:
    """Whether only empty lines stand between this one and the header of its block."""
    before = number - 1
    while before >= 0 and not lines[before].strip():
        before -= 1
    return before >= 0 and bool(_BLOCK_HEADER.search(lines[before]))
