"""Cutting text to a number of bytes and lines."""

import tracemalloc
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwright.backends import Truncated, format_size, truncate_head, truncate_tail

texts = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from("\n\rx"), max_size=200)
limits = st.integers(0, 80)


def _pieces(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


def _lines(text: str) -> int:
    return text.count("\n") + (not text.endswith("\n") and text != "")


def _enough(kept: str, text: str, size: int) -> bool:
    """Little room is left, or the next character would not have fitted with the mark before it."""
    return size - len(kept.encode()) <= max(min(1000, size // 5), 7)


@pytest.mark.row("002-54")
@given(texts, limits, st.integers(0, 12))
def test_the_head_is_a_beginning_that_fills_the_room(text: str, size: int, lines: int) -> None:
    head = truncate_head(text, size, lines)
    kept = text[: head.kept]
    assert head.text in (kept, kept + "…")
    assert len(head.text.encode()) <= size
    assert _lines(kept) <= lines
    assert head.truncated == (head.text != text)
    assert head.cut_by != "bytes" or _enough(head.text, text, size)
    if head.truncated:
        assert not kept.endswith("\r") or not text[head.kept :].startswith("\n")


@pytest.mark.row("002-55")
@given(texts, limits, st.integers(0, 12))
def test_the_tail_is_an_end_that_fills_the_room(text: str, size: int, lines: int) -> None:
    tail = truncate_tail(text, size, lines)
    kept = text[len(text) - tail.kept :]
    assert tail.text in (kept, "…" + kept)
    assert len(tail.text.encode()) <= size
    assert _lines(kept) <= lines
    assert tail.truncated == (tail.text != text)
    assert tail.cut_by != "bytes" or _enough(tail.text, text, size)


@given(texts, limits, st.integers(1, 9))
def test_text_in_chunks_is_cut_as_text_in_one_piece(text: str, size: int, piece: int) -> None:
    assert truncate_head(_pieces(text, piece), size, 5) == truncate_head(text, size, 5)
    assert truncate_tail(_pieces(text, piece), size, 5) == truncate_tail(text, size, 5)


def test_whole_lines_are_kept() -> None:
    text = "one\ntwo\nthree\n"
    assert truncate_head(text, 9, 10).text == "one\ntwo"
    assert truncate_tail(text, 9, 10).text == "three\n"
    assert truncate_head(text, 99, 2).cut_by == "lines"


def test_a_line_that_fits_exactly_is_kept() -> None:
    assert truncate_head("aaaa\nbbbb\ncccc", 9).text == "aaaa\nbbbb"
    assert truncate_tail("aaaa\nbbbb\ncccc", 9).text == "bbbb\ncccc"


def test_a_line_longer_than_the_room_is_cut_between_characters_and_marked() -> None:
    assert truncate_head("é" * 10, 8).text == "éé…"
    assert truncate_tail("é" * 10, 8).text == "…éé"
    head = truncate_head("title\n" + "x" * 60_000)
    assert (len(head.text.encode()), head.text[:8], head.text[-2:]) == (51_200, "title\nxx", "x…")
    tail = truncate_tail("x" * 60_000 + "\nend")
    assert (len(tail.text.encode()), tail.text[:2], tail.text[-5:]) == (51_200, "…x", "x\nend")


@pytest.mark.parametrize(
    ("size", "shown"), [(9, "aaaa"), (10, "aaaa\r\nbbbb"), (11, "aaaa\r\nbbbb")]
)
def test_a_line_ending_is_never_cut_in_two(size: int, shown: str) -> None:
    text = "aaaa\r\nbbbb\r\ncccc"
    assert truncate_head(text, size).text == shown
    assert truncate_head(text, 99, 1).text == "aaaa"
    assert truncate_tail(text, 5).text == "cccc"


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


@pytest.mark.row("002-56")
@pytest.mark.parametrize(
    ("size", "shown"),
    [(0, "0B"), (512, "512B"), (51200, "50KB"), (1_572_864, "1.5MB"), (3 * 1024**3, "3GB")],
)
def test_sizes_are_shown_for_people(size: int, shown: str) -> None:
    assert format_size(size) == shown
