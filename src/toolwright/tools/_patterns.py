"""Names and patterns of names in rules: `*` and `?` stand for other signs, all else for itself."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache

__all__ = ["Named", "NamedPath", "is_like"]


def is_like(name: str, pattern: str) -> bool:
    """Whether a name is as a pattern says, capitals and all."""
    return _compiled(pattern).fullmatch(name) is not None


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    first, *parts = [
        "".join("." if sign == "?" else re.escape(sign) for sign in part)
        for part in pattern.split("*")
    ]
    if not parts:
        return re.compile(first, re.DOTALL)
    # Each part is taken where it first stands, for good: to try other places never helps, and with
    # many of them takes for ever.
    middle = "".join(f"(?>.*?{part})" for part in parts[:-1] if part)
    return re.compile(f"{first}{middle}.*{parts[-1]}", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Named:
    """What a rule takes for a name of something that there is."""

    pattern: str
    """For people: as it stands in the rule."""
    how: str = ""
    """What the rule does with it, if not to take it as a pattern."""
    holds: Callable[[str], bool] | None = field(default=None, compare=False)
    """Whether a name is meant."""
    like: str = field(default="", compare=False)
    """The pattern that the whole text has to be like; empty when it is the other way round."""
    lowered: bool = field(default=False, compare=False)
    """Whether it is compared with names in small letters."""

    def is_one_of(self, names: Iterable[str]) -> bool:
        """Whether any of these is meant."""
        holds = self.holds
        return any(is_like(name, self.pattern) if holds is None else holds(name) for name in names)


@dataclass(frozen=True, slots=True)
class NamedPath(Named):
    """What a rule takes for a path, or a part of one."""

    def is_one_of(self, names: Iterable[str]) -> bool:
        """Whether there may be such a path of these names, in whatever order."""
        known = {name.lower() if self.lowered else name for name in names}
        seen: set[frozenset[int]] = set()
        left = [_onward({0}, self.like)]
        while left and len(seen) < _MOST_PLACES:
            places = left.pop()
            for name in known:
                reached = _after(name, places, self.like)
                if len(self.like) in reached:
                    return True
                further = _after("/", reached, self.like)
                if further and further not in seen:
                    seen.add(further)
                    left.append(further)
        return bool(left)


_MOST_PLACES = 10_000
"""How long is looked for a path; longer than any pattern of names needs."""


def _after(text: str, places: frozenset[int], pattern: str) -> frozenset[int]:
    """How far in the pattern one can be after a text, from these places in it."""
    for sign in text:
        steps = {
            at if pattern[at] == "*" else at + 1
            for at in places
            if at < len(pattern) and pattern[at] in ("*", "?", sign)
        }
        places = _onward(steps, pattern)
    return places


def _onward(places: set[int], pattern: str) -> frozenset[int]:
    """With those behind a `*`, which may stand for nothing."""
    found = set(places)
    for at in places:
        while at < len(pattern) and pattern[at] == "*":
            at += 1
            found.add(at)
    return frozenset(found)
