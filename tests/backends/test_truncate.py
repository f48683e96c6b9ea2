"""Cutting text to a number of bytes and lines."""

import tracemalloc
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwright.backends import Truncated, format_size, truncate_head, truncate_tail

texts = st.text(st.characters(blacklist_categories=["Cs"]) | st.just("\n"), max_size=200)
limits = st.integers(0, 80)


def _pieces(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


def _lines(text: str) -> int:
    return text.count("\n") + (not text.endswith("\n") and text != "")


@given(texts, limits, st.integers(0, 12))
def test_the_head_is_a_beginning_within_both_limits(text: str, size: int, lines: int) -> None:
    head = truncate_head(text, size, lines)
    assert text.startswith(head.text)
    assert len(head.text.encode()) <= size
    assert _lines(head.text) <= lines
    assert head.truncated == (head.text != text)


@given(texts, limits, st.integers(0, 12))
def test_the_tail_is_an_end_within_both_limits(text: str, size: int, lines: int) -> None:
    tail = truncate_tail(text, size, lines)
    assert text.endswith(tail.text)
    assert len(tail.text.encode()) <= size
    assert _lines(tail.text) <= lines
    assert tail.truncated == (tail.text != text)


@given(texts, limits, st.integers(1, 9))
def test_text_in_chunks_is_cut_as_text_in_one_piece(text: str, size: int, piece: int) -> None:
    assert truncate_head(_pieces(text, piece), size, 5) == truncate_head(text, size, 5)
    assert truncate_tail(_pieces(text, piece), size, 5) == truncate_tail(text, size, 5)


def test_whole_lines_are_kept() -> None:
    text = "one\ntwo\nthree\n"
    assert truncate_head(text, 9, 10).text == "one\ntwo"
    assert truncate_tail(text, 9, 10).text == "three\n"
    assert truncate_head(text, 99, 2).cut_by == "lines"


def test_one_line_that_is_too_long_is_cut_between_characters() -> None:
    assert truncate_head("é" * 10, 5).text == "éé"
    assert truncate_tail("é" * 10, 5).text == "éé"


def test_totals_count_what_was_dropped() -> None:
    head = truncate_head("é\n" * 3000)
    assert (head.total_lines, head.total_bytes, head.cut_by) == (3000, 9000, "lines")


@pytest.mark.parametrize("cut", [truncate_head, truncate_tail])
def test_memory_stays_bounded_for_any_size(cut: Callable[..., Truncated]) -> None:
    tracemalloc.start()
    result = cut("0123456789abcde\n" * 512 for _ in range(4000))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert result.total_bytes == 16 * 512 * 4000
    assert peak < 1_000_000


@pytest.mark.parametrize(
    ("size", "shown"),
    [(0, "0B"), (512, "512B"), (51200, "50KB"), (1_572_864, "1.5MB"), (3 * 1024**3, "3GB")],
)
def test_sizes_are_shown_for_people(size: int, shown: str) -> None:
    assert format_size(size) == shown
