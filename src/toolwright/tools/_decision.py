"""What is decided of one call before it runs."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from toolwright.errors import UsageError
from toolwright.tools._arguments import Args
from toolwright.tools._context import ToolContext

__all__ = ["Decision", "Verdict", "Wish", "stricter"]

Verdict = Literal["allow", "ask", "deny"]
_STRICTNESS: dict[Verdict, int] = {"allow": 0, "ask": 1, "deny": 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What a policy says of one call."""

    verdict: Verdict
    reason: str = ""
    """Shown to whoever is asked, or to the model whose call is denied."""
    payload: Any = None
    rule: str = ""
    """Which rule decided, in words; filled in by those that have rules."""
    about: str | tuple[str, ...] = ""
    """What an approval, remembered or not, is bound to besides path, tool and arguments, such as a
    file's digest; also of a decision that allows the call, when another one asks. Of several things,
    in a tuple, an approval also covers calls that are about fewer of them."""
    review: Callable[[], Awaitable["Decision"]] | None = field(default=None, compare=False)
    """Gives the decision itself, when everybody else allows the call and no person has approved it;
    the `verdict` here is for those who cannot wait for it. Filled in by `reviewed_by`."""

    def __post_init__(self) -> None:
        if self.verdict not in get_args(Verdict):
            raise UsageError(f"A verdict is 'allow', 'ask' or 'deny'; got {self.verdict!r}.")


Wish = Callable[[Args, ToolContext], Awaitable[Decision]]
"""What a tool itself wants to be decided of its calls, given their validated arguments."""


def stricter(one: Decision | None, other: Decision) -> Decision:
    """The decision that counts: deny before ask before allow; of two alike, the first."""
    if one is None or _STRICTNESS[other.verdict] > _STRICTNESS[one.verdict]:
        return other
    return one
