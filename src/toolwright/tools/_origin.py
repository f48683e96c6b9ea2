"""The question about values that were not said by the person but read on the way."""

import json
from collections.abc import Sequence

from toolwright.tools._context import Origin
from toolwright.tools._fingerprint import digest_of

__all__ = ["about_origins", "question_about"]

_LONGEST_SHOWN = 300
_MOST_SHOWN = 5


def about_origins(origins: Sequence[Origin]) -> str:
    """What a yes to the question is bound to: these values, and no others."""
    return digest_of("untrusted", sorted(origin.key for origin in origins))


def question_about(tool: str, origins: Sequence[Origin], asked: str) -> str:
    """What a person is asked: which value, where it comes from, and what they had wanted."""
    lines = [f"{tool!r} would be called with what was not said by you, but read on the way:"]
    lines += [f"- {_told(origin)}" for origin in origins[:_MOST_SHOWN]]
    if (more := len(origins) - _MOST_SHOWN) > 0:
        lines.append(f"- and {more} more")
    lines.append(f"You had asked: {_quoted(asked)}" if asked else "Nobody had asked for anything.")
    return "\n".join(lines)


def _told(origin: Origin) -> str:
    value = _quoted(origin.value)
    if not origin.tool:
        return f"{value}, which nobody has named: it was put together after untrusted text was read"
    line = f"line {origin.line}: " if origin.line else ""
    place = f" ({line}{_quoted(origin.text)})" if origin.text else ""
    return f"{value}, from the result of {origin.tool!r}{place}"


def _quoted(text: str) -> str:
    """On one line, whatever it says."""
    short = text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"
    return json.dumps(short, ensure_ascii=False)
