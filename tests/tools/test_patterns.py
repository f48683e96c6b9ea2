"""Patterns of names: the same as trying everything, in a time that grows with the text."""

import re
import time

from hypothesis import given
from hypothesis import strategies as st

from toolwright.tools._patterns import is_like

FEW = st.text("ab*?.\n", max_size=12)


@given(FEW, st.text("ab.\n", max_size=12))
def test_a_pattern_means_what_its_signs_say(pattern: str, name: str) -> None:
    wild = {"*": ".*", "?": "."}
    plain = "".join(wild.get(sign) or re.escape(sign) for sign in pattern)
    assert is_like(name, pattern) is bool(re.fullmatch(plain, name, re.DOTALL))


def test_no_text_makes_it_slow() -> None:
    def seconds(text: str) -> float:
        start = time.thread_time()
        assert not is_like(text, "*rm*-rf*/*x*y")
        return time.thread_time() - start

    seconds("rm-rf" * 100)
    assert seconds("rm-rf" * 100_000) < 1
