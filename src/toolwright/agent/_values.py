"""What texts and arguments name: the same value, however it is written, and where it stands."""

import html
import json
import re
import unicodedata
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal
from urllib.parse import unquote

__all__ = ["Part", "Text", "arguments_text", "fold", "leaves_of", "parts_of", "read", "read_result"]

Kind = Literal["address", "host", "site", "number", "amount", "date", "id", "name"]
_UNSEEN = [0xAD, *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2065), 0xFEFF]
_WITHOUT_UNSEEN = dict.fromkeys(_UNSEEN)
_WORD = re.compile(r"\w+")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = rf"({'|'.join(_MONTHS)})[a-z]*\.?"
_DAY = r"(\d{1,2})(?:st|nd|rd|th)?"
_TO = r" ?(?:to|until|till|and|-|–) ?(?:the )?"
_DAY_FIRST = re.compile(rf"\b{_DAY}(?:{_TO}{_DAY})? (?:of )?{_MONTH},? (\d{{4}})\b")
_MONTH_FIRST = re.compile(rf"\b{_MONTH} {_DAY}(?:{_TO}(?:{_MONTH} )?{_DAY})?,? (\d{{4}})\b")
_YEAR_FIRST = re.compile(r"\b(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?!\d)")
# Each repetition has a limit, or one beginning: whoever writes a text could make a search take for ever.
_LOCAL = r"[\w.!#$%&'*+/=?^`{|}~-]"
_ADDRESS = re.compile(rf"(?<!{_LOCAL}){_LOCAL}++@[\w-]{{1,63}}(?:\.[\w-]{{1,63}}){{1,8}}")
_HOST = re.compile(
    r"(?:(?<=://)|\b(?=www\.))(?:[^\s/@?#]{0,99}@)?([\w-]{1,63}(?:\.[\w-]{1,63}){1,8})"
)
_BARE_HOST = re.compile(r"([\w-]{1,63}(?:\.[\w-]{1,63}){0,8}\.[a-z]{2,24})(?:/\S*)?")
_ACCOUNT = re.compile(r"(?<!\w)[a-z]{2}\d{2}(?:[ -]?[\da-z]{4}){2,7}(?:[ -]?[\da-z]{1,4})?(?!\w)")
_DIGITS = re.compile(r"(?<![\w.])\d{1,34}(?:[ ().\-/]{1,2}\d{1,34}){0,9}(?!\w)")
_AMOUNT = re.compile(
    r"(?<![\w.,])(?:\d{1,3}(?:,\d{3}){1,5}(?:\.\d{1,9})?|\d{1,15}\.\d{1,9})(?![\w,])"
)
_FIGURES = re.compile(r"[0-9][0-9 ().,\-/]{2,400}")
_ID_FIELD = re.compile(
    r"(?:.*[_\-.])?(?:ids?|uuid|guid|key|sha|hash|etag|cursor)_?|\w*(?:Id|ID|Ids)"
)
_TOKEN = re.compile(r"[\w#+~-]{1,80}")
_FEWEST_DIGITS = 7
"""Of an account or a phone number; shorter ones are amounts, years and counts."""
_FEWEST_SIGNIFICANT = 3
"""Digits of a number that is no accident when a text has it, too."""
_LONGEST_ID = 6
_AS_ID = r"(?:\bid|#|\bn[ro]|\bnumber)\W{{0,4}}{0}(?!\w)|[\"'`]{0}[\"'`]"
_LONGEST_LINE = 160
_LONGEST_VALUE = 60
"""Letters of an argument that is shown whole, whatever it names."""
_MOST_WORDS = 12
"""Of a value that is looked up as a whole; of what is longer only the parts that name something."""
_LONGEST_TIME = 35


@dataclass(frozen=True, slots=True)
class Part:
    """What an argument names, and how that is looked up."""

    kind: Kind
    value: str
    """As it stands there."""
    key: str
    """The same for all ways to write it."""

    @property
    def words(self) -> list[str]:
        """All of them stand in a text that has the value."""
        return _WORD.findall(self.key)

    def place_in(self, folded: str) -> int:
        """Where it begins in a folded text, not as a piece of something else; -1 where it is not."""
        if self.kind == "id":
            # Any text has small numbers; as an id it is named as one, or quoted.
            found = re.search(_AS_ID.format(self.key), folded)
            return -1 if found is None else found.start()
        at = folded.find(self.key)
        while at >= 0:
            end = at + len(self.key)
            if not _goes_on(folded[at - 1 : at]) and not _goes_on(folded[end : end + 1]):
                return at
            at = folded.find(self.key, at + 1)
        return -1


@dataclass(frozen=True, slots=True)
class Text:
    """A text as it is searched: folded, and after it its dates and numbers in one way to write them."""

    said: str
    """As it was written; of JSON a line for each value."""
    folded: str
    words: frozenset[str] = frozenset()
    """Those that it is found by."""
    has_lines: bool = True
    """Whether its lines are those that were written."""
    handles: frozenset[str] = frozenset()
    """Values that only name things where the text comes from, such as the id of a mail."""

    def line_of(self, part: Part) -> tuple[int, str]:
        """The number and the text of the line that has it; none where it goes over several."""
        for number, line in enumerate(self.said.split("\n"), 1):
            if part.place_in(read(line).folded) >= 0:
                return number if self.has_lines else 0, _around(fold(line).find(part.key), line)
        return 0, ""

    @property
    def kept(self) -> "Text":
        """What is needed of it once its words and handles are known."""
        return Text(self.said, self.folded, has_lines=self.has_lines)


def _around(at: int, line: str) -> str:
    """As much of a line as a person reads, with the place at `at`."""
    if len(line) <= _LONGEST_LINE:
        return line
    begin = max(0, at - _LONGEST_LINE // 2)
    return f"…{line[begin : begin + _LONGEST_LINE]}…"


def _goes_on(letter: str) -> bool:
    return letter.isalnum() or letter == "_"


def fold(text: str) -> str:
    """The same for texts that a reader takes for the same."""
    return unicodedata.normalize("NFKC", text).translate(_WITHOUT_UNSEEN).casefold()


def read(text: str) -> Text:
    """A text that somebody has written."""
    folded = fold(text)
    if "&" in folded:
        folded = html.unescape(folded)
    if "%" in folded:
        folded = f"{folded}\n{unquote(folded)}"
    words = set(_WORD.findall(folded))
    again = "\n".join(dict.fromkeys(_rewritten(folded, words)))
    words.update(_WORD.findall(again))
    return Text(text, f"{folded}\n{again}" if again else folded, frozenset(words))


def read_result(text: str) -> Text:
    """The text of a result: of JSON its values, without times and what only names a thing there."""
    if text[:1] not in ("{", "[", '"'):
        return read(text)
    try:
        handles: set[str] = set()
        lines = "\n".join(_said(json.loads(text, strict=False), "", handles))
    except (ValueError, RecursionError):
        return read(text)
    return replace(read(lines), has_lines=False, handles=frozenset(handles))


def arguments_text(arguments: str) -> Text:
    """All that a call says, given its arguments as the model wrote them."""
    try:
        return read("\n".join(str(leaf) for leaf in leaves_of(json.loads(arguments))))
    except (ValueError, RecursionError):
        return read(arguments)


def leaves_of(value: Any) -> Iterator[Any]:
    """The values inside of arguments, and keys that are no names of fields."""
    match value:
        case dict():
            yield from (key for key in value if not _TOKEN.fullmatch(str(key)))
            for inner in value.values():
                yield from leaves_of(inner)
        case list() | tuple():
            for inner in value:
                yield from leaves_of(inner)
        case _:
            yield value


def _said(value: Any, field: str, handles: set[str]) -> Iterator[str]:
    match value:
        case dict():
            for key, inner in value.items():
                if not _TOKEN.fullmatch(key):
                    yield key
                yield from _said(inner, key, handles)
        case list():
            for inner in value:
                yield from _said(inner, field, handles)
        case bool() | None:
            pass
        case str() if not _is_handle(field, value):
            if not _YEAR_FIRST.match(value) or len(value) > _LONGEST_TIME:
                yield value
        case int() | float() if not _is_handle(field, str(value)):
            if len(str(value)) >= _FEWEST_DIGITS:
                yield str(value)
        case _:
            handles.add(fold(str(value)))


def _is_handle(field: str, value: str) -> bool:
    if not _TOKEN.fullmatch(value):
        return False
    few_digits = sum(map(str.isdigit, value)) < _FEWEST_DIGITS
    return _ID_FIELD.fullmatch(field) is not None or (few_digits and not value.isdigit())


def parts_of(value: Any) -> Iterator[Part]:
    """What an argument names: addresses, hosts, long numbers, and itself when it is short."""
    match value:
        case bool() | None:
            return
        case int() | float():
            key = str(value) if isinstance(value, int) else f"{value:.12g}"
            if len(key.strip("-0.").replace(".", "")) >= _FEWEST_SIGNIFICANT:
                yield Part("amount", str(value), key)
        case _:
            yield from _parts_of_text(fold(str(value)).strip(), str(value))


def _parts_of_text(folded: str, value: str) -> Iterator[Part]:
    found = list(_destinations(folded))
    is_short = len(value) <= _LONGEST_VALUE
    yield from (replace(part, value=value) if is_short else part for part in found)
    words = _WORD.findall(folded)
    if found or "\n" in folded or not 1 <= len(words) <= _MOST_WORDS:
        return
    if dates := list(_dates(folded)):
        yield from (Part("date", value, date) for date in dates)
    elif folded.isdigit() and len(folded) < _LONGEST_ID:
        yield Part("id", value, folded)
    elif len(words) > 1 or not words[0].isalpha():  # A word by itself is no secret of anybody's.
        yield Part("name", value, folded)


def _destinations(folded: str) -> Iterator[Part]:
    for address in _ADDRESS.findall(folded):
        yield Part("address", address, address.strip(".'"))
    rest = _ADDRESS.sub(" ", folded)
    if hosts := _HOST.findall(rest):
        yield from (Part("host", host, host.removeprefix("www.")) for host in hosts)
    elif found := _BARE_HOST.fullmatch(rest.strip()):  # Or a file.
        yield Part("site", found[1], found[1])
    yield from (Part("number", number, number) for number in _numbers(rest))


def _rewritten(folded: str, words: Collection[str]) -> Iterator[str]:
    """Its dates, long numbers and amounts in one way to write them.

    Few texts have any, so it is looked for what these begin with first.
    """
    figures = dict.fromkeys(found.strip(" ,.(-/") for found in _FIGURES.findall(folded))
    if long := "\n".join(found for found in figures if len(found) >= _FEWEST_DIGITS):
        yield from _numbers(long)
        yield from _dates_in_figures(long)
    if split := "\n".join(found for found in figures if "." in found or "," in found):
        yield from _amounts(split)
    if any(word[2:4].isdigit() and word[:2].isalpha() for word in words):
        yield from _numbers(folded)
    if any(word[:3] in _MONTHS for word in words):
        yield from _dates(folded)


def _numbers(folded: str) -> Iterator[str]:
    """Account and phone numbers, without what is put between their digits."""
    for found in (*_ACCOUNT.findall(folded), *_DIGITS.findall(folded)):
        compact = "".join(filter(str.isalnum, found))
        if sum(map(str.isdigit, compact)) >= _FEWEST_DIGITS and not _YEAR_FIRST.match(found):
            yield compact


def _amounts(folded: str) -> Iterator[str]:
    for found in _AMOUNT.findall(folded):
        yield f"{float(found.replace(',', '')):.12g}"


def _dates(folded: str) -> Iterator[str]:
    for first, second, month, year in _DAY_FIRST.findall(folded):
        yield from (_date(year, month, day) for day in (first, second) if day)
    for month, first, other, second, year in _MONTH_FIRST.findall(folded):
        yield _date(year, month, first)
        if second:
            yield _date(year, other or month, second)
    yield from _dates_in_figures(folded)


def _dates_in_figures(folded: str) -> Iterator[str]:
    for year, month, day in _YEAR_FIRST.findall(folded):
        yield f"{year}-{int(month):02}-{int(day):02}"


def _date(year: str, month: str, day: str) -> str:
    return f"{year}-{_MONTHS.index(month) + 1:02}-{int(day):02}"
