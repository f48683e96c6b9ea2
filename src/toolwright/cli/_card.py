"""The question that a pending call asks, laid out for a screen: what is decided on stays in sight."""

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, NamedTuple

from toolwright._links import hosts_in
from toolwright.cli._screen import STYLE, Screen, cells, count_within, gutter, wrap
from toolwright.messages import Pending, pretences, shown_json, shown_text, visible

__all__ = ["Card", "laid", "laid_own", "lay_out", "numbers_of", "options_of", "whole_rows"]

_SEEN = 8
"""So many characters of the beginning and of the end of a text are in sight at least."""
_LONGEST_NAME = 120
_LEFT_EMPTY = 3
"""So many cells are empty at most where a row ends: a wide picture with its style takes four."""
_LATEST = 253_370_764_800.0
"""The beginning of the year 9999: calendars end with it."""
_BLANKS = re.compile(" {17,}")
_LEFT_OUT = "({count:,} characters; `show` pages through them all)"
_TOO_MUCH = "(too much for this screen: `show` pages through it; a yes counts after that)"
_TOO_NARROW = "(this terminal is too narrow to show it: make it wider)"


class Card(NamedTuple):
    """A question as rows."""

    rows: list[str]
    is_whole: bool
    """Whether nothing is left out."""
    is_enough: bool
    """Whether enough is in sight to decide on it: the tool, and of everything else its ends."""


@dataclass(frozen=True, slots=True)
class _Part:
    """A text of the card, which is shown as a whole or with its middle left out."""

    text: str
    label: str = ""
    first: int = _SEEN
    """How many characters of its beginning are always shown."""
    last: int = _SEEN
    rank: int = 0
    """Parts of a lower rank are given rows first."""

    def rows(self, screen: Screen, most: int | None = None) -> list[str]:
        """With the gutter; no more than `most`, which is not less than `least`."""
        text = screen.spell(self.text)
        if most is not None and self.height(screen, most) > most:
            text = self._cut(most, screen)
        return list(_rows(text, self.label, screen))

    def height(self, screen: Screen, most: int) -> int:
        """The rows of the whole text; one more than `most` stands for any number."""
        return len(list(islice(_rows(screen.spell(self.text), "", screen), most + 1)))

    def least(self, screen: Screen, most: int) -> int:
        """The rows for what is always shown of it."""
        line = _one_line(screen.spell(self.text))
        need = (
            cells(line[: self.first])
            + cells(screen.spell(_gap(line, line)))
            + cells(line[-self.last :])
        )
        return min(self.height(screen, most), -(-need // (screen.text_width - _LEFT_EMPTY)))

    def _cut(self, rows: int, screen: Screen) -> str:
        line = _one_line(screen.spell(self.text))
        room = rows * (screen.text_width - _LEFT_EMPTY) - cells(screen.spell(_gap(line, line)))
        spare = max(0, room - cells(line[: self.first]) - cells(line[-self.last :])) // 2
        head = self.first + count_within(line[self.first :], spare)
        tail = self.last + count_within(reversed(line[: -self.last]), spare)
        if head + tail >= len(line):
            return line
        tail -= line[-tail] == STYLE
        start = line[:head].rstrip("\\")
        gap = screen.spell(_gap(line[len(start) : -tail], line))
        return f"{start}{gap}{line[-tail:]}"


def _gap(left_out: str, line: str) -> str:
    # In JSON the quotes end the text before the gap: a text cannot contain such a gap itself.
    quote = '"' if '"' in line else ""
    return f"{quote} … {len(left_out):,} characters … {quote}"


def _one_line(text: str) -> str:
    return text.replace("\n", "\\n")


def _rows(text: str, label: str, screen: Screen) -> Iterator[str]:
    for line in text.split("\n"):
        for at, row in enumerate(wrap(line, screen.text_width)):
            yield f"{gutter(label, screen, goes_on=at > 0)}{row}"
            label = ""


def laid(label: str, text: str, screen: Screen, most: int) -> list[str]:
    """One text in rows behind the gutter, with its middle left out where it needs more."""
    part = _Part(_prose(text), label)
    return part.rows(screen, max(most, part.least(screen, most)))


def laid_own(text: str, screen: Screen) -> list[str]:
    """Words of ours in rows, which have no gutter."""
    rows = [""]
    for word in screen.spell(text).split(" "):
        longer = f"{rows[-1]} {word}".lstrip()
        if cells(longer) <= screen.width:
            rows[-1] = longer
        else:
            rows += wrap(word, screen.width)
    return rows if rows[0] else rows[1:]


def whole_rows(pending: Pending, screen: Screen) -> list[str]:
    """All that the question says, however many rows that takes."""
    return [row for part in _whole(pending) for row in part.rows(screen)]


def _whole(pending: Pending) -> list[_Part]:
    return [*_head(pending), *_bodies(pending), *_notes(pending)]


def lay_out(pending: Pending, screen: Screen, room: int) -> Card:
    """The question in no more than `room` rows, the tool's name and both ends of all else in sight."""
    whole = _whole(pending)
    if screen.is_wide_enough and _height(whole, screen, room) <= room:
        return Card(whole_rows(pending, screen), is_whole=True, is_enough=True)
    left_out = _LEFT_OUT.format(count=sum(len(part.text) for part in whole))
    below = laid_own(left_out, screen)
    parts = [*_head(pending, short=True), *_short_bodies(pending), *_short_notes(pending)]
    given = _share(parts, screen, room - len(below))
    if given is not None and screen.is_wide_enough:
        shared = zip(parts, given, strict=True)
        rows = [row for part, most in shared for row in part.rows(screen, most)]
        return Card([*rows, *below], is_whole=False, is_enough=True)
    return _too_much(parts, screen, room)


def _height(parts: Sequence[_Part], screen: Screen, room: int) -> int:
    return sum(part.height(screen, room) for part in parts[: room + 1])


def _share(parts: Sequence[_Part], screen: Screen, room: int) -> list[int] | None:
    """How many rows each part gets; None when there are too few for what is always shown."""
    if len(parts) > room:
        return None
    given = [part.least(screen, room) for part in parts]
    wanted = [part.height(screen, room) for part in parts]
    left = room - sum(given)
    for rank in sorted({part.rank for part in parts}):
        wanting = [at for at, part in enumerate(parts) if part.rank == rank]
        while left > 0 and (wanting := [at for at in wanting if given[at] < wanted[at]]):
            for at in wanting[:left]:
                given[at] += 1
            left -= len(wanting[:left])
    return given if left >= 0 else None


def _too_much(parts: Sequence[_Part], screen: Screen, room: int) -> Card:
    """As many of the parts as there is room for, and that there are more."""
    said = _TOO_MUCH if screen.is_wide_enough else _TOO_NARROW
    below = laid_own(said, screen)
    shown: list[str] = []
    for part in parts[: max(1, room)]:
        rows = part.rows(screen, part.least(screen, room))
        if len(shown) + len(rows) + len(below) <= room:
            shown += rows
    return Card([*shown, *below], is_whole=False, is_enough=False)


def _head(pending: Pending, *, short: bool = False) -> list[_Part]:
    name = visible(pending.name, lines=False)
    called = f"{_short_name(name) if short else name} ({pending.kind})"
    text = f"{visible(pending.call_id, lines=False)}  {called}"
    parts = [_Part(text, "waits", last=len(called))]
    if pending.hint:
        parts.append(_Part(_prose(pending.hint), "asks"))
    if pending.deadline is not None:
        until = _until(pending.deadline)
        parts.append(_Part(until, "until", first=len(until)))
    return parts


def _until(deadline: float) -> str:
    """When a deadline is, and how long that is from now."""
    deadline = min(deadline, _LATEST)
    moment = datetime.fromtimestamp(deadline).astimezone().strftime("%Y-%m-%d %H:%M:%S %Z")
    left = timedelta(seconds=max(0, int(deadline - time.time())))
    return f"{moment} ({left} left)" if left else f"{moment} (no time left)"


def _bodies(pending: Pending) -> list[_Part]:
    parts = []
    if _shows_arguments(pending):
        parts.append(_Part(shown_json(pending.arguments, indent=2), "with"))
    if pending.payload is not None:
        parts += _options(pending) or [_Part(shown_json(pending.payload, indent=2), "about")]
    return parts


def _short_bodies(pending: Pending) -> list[_Part]:
    parts = _members(pending.arguments, "with") if _shows_arguments(pending) else []
    if pending.payload is not None:
        parts += _options(pending) or _members(pending.payload, "about")
    return parts


def _shows_arguments(pending: Pending) -> bool:
    return pending.kind not in ("choice", "input")  # there the hint and the payload say it all


def _members(value: Any, label: str) -> list[_Part]:
    """A part for each member of an object, with its name in sight."""
    if not isinstance(value, dict) or not value:
        return [_Part(shown_json(value), label)]
    parts = []
    for name, member in value.items():
        key = _short_name(shown_json(str(name)))
        text = f"{key}: {shown_json(member)}"
        parts.append(_Part(text, label, first=len(key) + 2 + _SEEN))
        label = ""
    return parts


def _short_name(name: str) -> str:
    if len(name) <= _LONGEST_NAME:
        return name
    half = _LONGEST_NAME // 2
    return f"{name[:half]}{_gap(name[half:-half], name)}{name[-half:]}"


def _options(pending: Pending) -> list[_Part]:
    options = options_of(pending)
    shown = [shown_text(str(option), lines=False) for option in options]
    marks = [f"{number}." for number in numbers_of(options)] or ["-"] * len(options)
    labels = ["choose", *[""] * len(options)]
    return [
        _Part(f"{mark} {text}", label, first=len(mark) + 1 + _SEEN)
        for mark, text, label in zip(marks, shown, labels, strict=False)
    ]


def options_of(pending: Pending) -> list[Any]:
    """What a choice offers."""
    payload = pending.payload
    options = payload.get("options") if isinstance(payload, dict) else None
    return options if pending.kind == "choice" and isinstance(options, list) else []


def numbers_of(options: list[Any]) -> list[str]:
    """What options are chosen by; nothing where one of them is such a number itself.

    Then "2" could be meant for either of two, so that only the option's own text counts.
    """
    numbers = [str(n) for n in range(1, len(options) + 1)]
    return [] if {str(option).strip() for option in options} & {*numbers} else numbers


def _notes(pending: Pending) -> list[_Part]:
    careful = pretences(*_shown(pending))
    return [*_links_and_rule(pending), *([_Part("\n".join(careful), "careful")] if careful else [])]


def _short_notes(pending: Pending) -> list[_Part]:
    """What is to be known beside it; warnings are counted where there is no room for them."""
    careful = pretences(*_shown(pending))
    parts = _links_and_rule(pending)
    if careful:
        said = f"{len(careful)} warnings: " + " ".join(careful)
        parts.append(_Part(said, "careful", first=min(len(said), 40), rank=1))
    return parts


def _links_and_rule(pending: Pending) -> list[_Part]:
    parts = []
    if hosts := hosts_in(*_shown(pending)):
        text = ", ".join(hosts)
        parts.append(_Part(text, "leads to", first=len(text)))
    if pending.rule:
        parts.append(_Part(_prose(pending.rule, lines=False), "asked by", rank=2))
    return parts


def _shown(pending: Pending) -> list[Any]:
    """The values that are shown."""
    return [
        pending.hint,
        pending.payload,
        *([pending.arguments] if _shows_arguments(pending) else []),
    ]


def _prose(text: str, *, lines: bool = True) -> str:
    """Text that is no value: its tabs and long runs of blanks say nothing."""
    shown = shown_text(text, lines=lines).replace("\r\n", "\n").replace("\t", "    ").rstrip("\n")
    return _BLANKS.sub(lambda found: f" …{len(found[0])} blanks… ", shown)
