"""Any text can name an artifact, and no two names are mixed up."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwright.backends.artifacts._names import plain_name, safe_name
from toolwright.errors import ToolError

_TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=300)


@given(_TEXT)
def test_a_name_comes_back_unless_it_was_shortened(name: str) -> None:
    assert plain_name(safe_name(name)) in (name, None)
    assert plain_name(safe_name(name[:16])) == name[:16]


@given(_TEXT, _TEXT)
def test_two_names_never_share_a_segment(one: str, other: str) -> None:
    assert (safe_name(one) == safe_name(other)) == (one == other)


@given(_TEXT)
def test_a_segment_is_short_and_plain_and_climbs_nowhere(name: str) -> None:
    segment = safe_name(name)
    assert re.fullmatch(r"[A-Za-z0-9_=+-][A-Za-z0-9_=+.-]{0,199}", segment)


def test_what_no_text_can_hold_is_refused() -> None:
    with pytest.raises(ToolError, match="characters that no name can have"):
        safe_name("\ud800")
