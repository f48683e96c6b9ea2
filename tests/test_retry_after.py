"""`Retry-After` as servers write it, and as they should not."""

import math
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwright._retry_after import retry_after

NONSENSE = [
    None, "", " ", "²", "٣", "soon", "-5", "1e999", "nan", "inf", "9" * 5000, "32 Jan 2020 00:00:00 GMT",
    "Mon, 01 Jan 0001 00:00:00 +2359", "Mon, 01 Jan 9999 99:00:00 GMT", "Mon, 01 Jan 99999999 00:00 GMT",
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(NONSENSE)))
def test_what_is_neither_a_number_nor_a_date_says_nothing(number: int) -> None:
    assert retry_after(NONSENSE[number]) in (None, 0.0)


@given(st.text() | st.from_regex(r"[A-Z][a-z]{2}, \d+ [A-Z][a-z]{2} \d+ [\d:]+ [-+A-Z\d]+"))
def test_no_text_is_an_error_or_endless(text: str) -> None:
    wait = retry_after(text)
    assert wait is None or 0 <= wait < math.inf


def test_seconds_and_dates_are_understood() -> None:
    soon = datetime.now(UTC) + timedelta(minutes=10)
    assert retry_after(" 7 ") == 7
    assert retry_after("1.5") == 1.5
    for date in (format_datetime(soon, usegmt=True), format_datetime(soon.replace(tzinfo=None))):
        wait = retry_after(date)
        assert wait is not None
        assert 500 < wait <= 600
    assert retry_after("Mon, 01 Jan 2001 00:00:00 GMT") == 0
