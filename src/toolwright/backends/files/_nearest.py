"""Show the part of a file that is most like a text which is not in it."""

from difflib import SequenceMatcher
from itertools import islice

from toolwright.backends.files._rope import Rope

__all__ = ["nearest"]

_MAX_LINES = 20_000
_MAX_WIDTH = 200
_MAX_READ = 64 * 1024
"""Of a line; more than is looked at, for there may be blanks before it."""
_SHOWN = 12


def nearest(text: Rope, old: str) -> str:
    """The most similar lines, numbered, with whitespace made visible; '' when nothing is like it."""
    lines = list(islice(text.lines(_MAX_READ), _MAX_LINES))
    wanted = old.splitlines()[:_SHOWN] or [old]
    best = _best_start(lines, wanted)
    if best is None:
        return ""
    shown = lines[best : best + len(wanted)]
    return "\n".join(f"{best + 1 + at:>6} | {_visible(line)}" for at, line in enumerate(shown))


def _best_start(lines: list[str], wanted: list[str]) -> int | None:
    """Where the longest line of `wanted` has its best match, so that the rest falls into place."""
    anchor = max(range(len(wanted)), key=lambda at: len(wanted[at].strip()))
    matcher = SequenceMatcher(autojunk=False)
    matcher.set_seq2(wanted[anchor].strip()[:_MAX_WIDTH])
    best, score = None, 0.6
    for at, line in enumerate(lines):
        matcher.set_seq1(line.strip()[:_MAX_WIDTH])
        if matcher.real_quick_ratio() > score and matcher.quick_ratio() > score:
            ratio = matcher.ratio()
            if ratio > score:
                best, score = at, ratio
    return None if best is None else max(0, best - anchor)


def _visible(line: str) -> str:
    """Leading and trailing whitespace as `·` and `→`."""
    line = line[:_MAX_WIDTH]
    body = line.strip()
    before, _, after = line.partition(body) if body else (line, "", "")
    return _marked(before) + body + _marked(after)


def _marked(space: str) -> str:
    return space.replace("\t", "→").replace(" ", "·").replace("\r", "␍").replace("\u00a0", "⍽")
