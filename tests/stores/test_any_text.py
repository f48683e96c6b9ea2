"""Text columns hold any string, in a time that grows with its length alone."""

import time
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy.dialects import sqlite

from toolwright.backends.sql import AnyText

COLUMN: Any = AnyText()
DIALECT = sqlite.dialect()
ODD = st.text(st.sampled_from("\0\x1a0dc18a\ud83d\ude00\udfff\ue000x"))


@given(ODD | st.text(st.characters()))
def test_any_string_comes_back_from_what_every_database_takes(text: str) -> None:
    stored = COLUMN.process_bind_param(text, DIALECT)
    stored.encode()
    assert "\0" not in stored
    assert COLUMN.process_result_value(stored, DIALECT) == text


def test_millions_of_nul_characters_take_no_time() -> None:
    text = "\0" * 5_000_000
    began = time.process_time()
    stored = COLUMN.process_bind_param(text, DIALECT)
    assert COLUMN.process_result_value(stored, DIALECT) == text
    assert time.process_time() - began < 2
