"""Text that people decide on: everything in it is seen, nothing in it is obeyed."""

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwright.messages import count_marks, lookalikes, visible

OBEYED = [
    "\x00", "\x07", "\x08", "\r", "\x1b", "\x7f", "\x80", "\x9b", "\x9d",  # controls
    "\u202e", "\u2066", "\u200f", "\u061c",  # bidirectional
    "\u200b", "\u200d", "\u2060", "\ufeff", "\u00ad", "\u2028", "\U000e0041",  # not seen
    "\u3164", "\u115f", "\u034f", "\u2800", "\ufe0f", "\U000e0101",  # not seen, though letters and marks
    "\ud83d", "\udc1b", "\ue000", "\U0010ffff",  # half characters, private and unassigned ones
]  # fmt: skip


@pytest.mark.parametrize("char", OBEYED, ids=lambda char: f"{ord(char):x}")
def test_what_a_terminal_obeys_or_hides_is_written_as_a_mark(char: str) -> None:
    shown = visible(f"a{char}b")
    assert shown == f"a{json.dumps(char)[1:-1]}b"
    assert shown.isascii()
    assert count_marks(f"a{char}b") == 1


@pytest.mark.parametrize(
    "text",
    ["Grüße, 你好 — “quoted”", "two\nlines\tand a tab", "DOS\r\nlines", "Bonjour\u202f! 全角\u3000空白", "⚠️ 👩‍🚀 👍🏽 ❤️‍🔥", "שלום"],
)  # fmt: skip
def test_ordinary_text_is_left_as_it_is(text: str) -> None:
    assert visible(text) == text
    assert count_marks(text) == 0


def test_a_line_stays_a_line() -> None:
    assert visible("a\nb\tc\r\nd", lines=False) == r"a\nb\tc\r\nd"


@given(st.text(st.characters()))
def test_nothing_that_is_obeyed_is_left_and_the_length_says_whether_something_changed(
    text: str,
) -> None:
    shown = visible(text)
    left = {unicodedata.category(c) for c in shown.replace("\r\n", "\n") if c not in "\n\t\u200d"}
    assert not left & {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
    assert (shown != text) == (count_marks(text) > 0)
    assert visible(shown) == shown


@given(st.text(st.characters()))
def test_json_made_visible_is_the_same_json(text: str) -> None:
    assert json.loads(visible(json.dumps([text], ensure_ascii=False), lines=False)) == [text]


@pytest.mark.parametrize(
    ("text", "odd"),
    [
        ("p\u0430ypal.com", "\u0430"),  # Cyrillic
        ("rm \u03bfut", "\u03bf"),  # Greek
        ("\U0001d42bm", "\U0001d42b"),  # a mathematical r
        ("\uff52m", "\uff52"),  # full width
    ],
    ids=["cyrillic", "greek", "mathematical", "wide"],
)
def test_letters_that_look_like_others_are_named(text: str, odd: str) -> None:
    [word] = lookalikes(text)
    assert f"has {odd} (U+{ord(odd):04X})" in word


@pytest.mark.parametrize("text", ["Москва", "Größe, naïve", "αβγ", "东京 Tokyo", "plain"])
def test_words_of_one_alphabet_are_no_lookalikes(text: str) -> None:
    assert lookalikes(text) == []
