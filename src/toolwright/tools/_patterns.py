"""Names and patterns of names in rules: `*` and `?` stand for other signs, all else for itself."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache

__all__ = ["Named", "is_like"]


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


@dataclass(frozen=True, slots=True, order=True)
class Named:
    """What a rule takes for a name of something that there is."""

    pattern: str
    """For people: as it stands in the rule."""
    how: str = ""
    """What the rule does with it, if not to take it as a pattern."""
    holds: Callable[[str], bool] | None = field(default=None, compare=False)
    """Whether a name is meant."""

    def is_one_of(self, names: Iterable[str]) -> bool:
        """Whether any of these is meant."""
        holds = self.holds
        return any(is_like(name, self.pattern) if holds is None else holds(name) for name in names)
