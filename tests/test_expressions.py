"""No text, whoever wrote it, keeps one of the library's regular expressions busy.

While Python looks for one, nothing else runs: no timeout, and no other run.
"""

import re
import time
from typing import Any

import pytest
from tests.expressions import Expression, busy_texts, expressions

LETTERS = 2_000
MANY = 8
LOOKS = 15
QUICK, SLOW = 0.05e-6, 0.5e-6
"""Seconds for each letter; most expressions take far less."""
OURS = {
    "backends/sandboxes/_bwrap_binary.py": r"b'\\d+(?:\\.\\d+)+'",
    "builtin/bash/_grammar.py": "names>-",
    "builtin/bash/programs/_git.py": r"'(-[\\w-]+)=(?=,|$)'",
}
"""Those that read nothing but what we or the system have written."""


def slowest(expression: Expression) -> Any:
    """What it takes too long to read again and again; None if there is nothing."""
    texts = busy_texts(expression.pattern)
    return next((text for text in texts if is_slow(expression, *text)), None)


def is_slow(expression: Expression, before: Any, unit: Any) -> bool:
    def seconds(letters: int) -> float:
        text = before + unit * (letters // len(unit) + 1)
        began = time.thread_time()
        expression.read(text[:letters] + (b"\0" if isinstance(unit, bytes) else "\0"))
        return time.thread_time() - began

    def looks_slow() -> bool:
        short = min(seconds(LETTERS), seconds(LETTERS))
        if short < LETTERS * QUICK or short > LETTERS * SLOW:
            return short > LETTERS * SLOW
        long = min(seconds(MANY * LETTERS), seconds(MANY * LETTERS))
        return long > MANY * LETTERS * SLOW or long > 3 * MANY * short

    # What is slow is so each time; a neighbour on the same core makes any look so now and then.
    return all(looks_slow() for _ in range(LOOKS))


def test_every_expression_reads_a_text_in_a_time_that_grows_with_its_length() -> None:
    found = [one for one in expressions() if OURS.get(one.name.split(":")[0], "\0") not in one.name]
    assert len(found) > 200
    slow = {one.name: text for one in found if (text := slowest(one)) is not None}
    assert slow == {}


@pytest.mark.parametrize(
    "pattern",
    [
        r"(?m)(^#+ .*?)\s?\[[§#¶]\]\([^)\s]{0,500}\)",
        rb"""(?i)<meta[^>]{0,200}?charset\s*=\s*["']?\s*([\w.:-]+)""",
        r"(?m)^[ \t]*\t[ \t]*$",
        r"prompt is too long|token count .* exceeds|too many tokens",
        r"([A-Z]+)([A-Z][a-z])",
        r"\s*\+ Exception Group $",
        r"[-.]?\d+(\.\d+)*$",
    ],
)
def test_expressions_that_take_the_square_of_the_length_are_found(pattern: str | bytes) -> None:
    """These were in the library once."""
    assert slowest(Expression("", re.compile(pattern))) is not None
