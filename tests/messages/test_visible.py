"""Text that people decide on: everything in it is seen, nothing in it is obeyed."""

import json
import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwright.messages import count_marks, lookalikes, pretences, visible

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


@pytest.mark.parametrize(
    ("text", "odd"),
    [
        ("https:\u2044\u2044bank.example/pay", "\u2044"),  # in a row
        ("ls\u2223\u2223rm", "\u2223"),  # bars
        ("bank\u2024\u2024example", "\u2024"),  # in a row, by their compatible form
        ("\u2044etc/passwd", "\u2044"),  # at the beginning
        ("bank.example\u2044", "\u2044"),  # at the end
        ("caf\u00e9\u2044menu", "\u2044"),  # beside a letter of a living language
        ("rm \u2010rf x", "\u2010"),  # an option
        ("rm \u2212\u2212force x", "\u2212"),
        ("rm \u2013rf x", "\u2013"),
        ('rm "\u2013rf"', "\u2013"),
        ("my\u2011file", "\u2011"),  # within a name
        ("\u223c/x", "\u223c"),
    ],
    ids=["slashes", "bars", "dots", "first", "last", "accent", "hyphen", "minus", "dash", "quoted", "name", "home"],
)  # fmt: skip
def test_signs_that_look_like_those_of_paths_and_commands_are_named(text: str, odd: str) -> None:
    [word] = lookalikes(text)
    assert word.endswith(f"has {odd} (U+{ord(odd):04X})")


@pytest.mark.parametrize(
    "text",
    ["2010\u20132012", "Mon\u2013Fri", "one \u2013 two", "5 \u2212 3", "価格：100円", "\u201cso\u201d", "it\u2019s", "a…b", "\u2044"],
)  # fmt: skip
def test_signs_of_ordinary_text_are_not_named(text: str) -> None:
    assert lookalikes(text) == []


def test_signs_piled_upon_a_letter_are_written_as_marks() -> None:
    few, many = "e\u0301" + "\u0323" * 4, "a" + "\u0301" * 400
    assert visible(few) == few
    assert visible(many) == "a" + "\u0301" * 5 + r"\u0301" * 395
    assert count_marks(many) == 395
    # Signs that enclose a letter pile up too; the next letter begins another pile.
    assert visible("a" + "\u20dd" * 6 + "b\u0301") == "a" + "\u20dd" * 5 + r"\u20dd" + "b\u0301"


@pytest.mark.parametrize("text", ["שָּׁ֖לוֹם", "ཧཱུྃ", "Việt Nam", "สวัสดี", "नमस्ते"])
def test_letters_with_all_the_signs_of_their_script_are_left_as_they_are(text: str) -> None:
    assert visible(unicodedata.normalize("NFD", text)) == unicodedata.normalize("NFD", text)


@given(st.text(st.sampled_from("a\u0301\u20dd\ufe0f\u200d👍\u202e ")), st.integers(0, 40))
def test_a_text_in_pieces_is_shown_as_the_whole(text: str, at: int) -> None:
    first, rest = text[:at], text[at:]
    # A sign that joins what comes next cannot be judged before that has come.
    if not first.endswith("\u200d"):
        assert visible(first) + visible(rest, after=first) == visible(text)


def test_an_accent_does_not_part_a_word_and_a_long_word_is_not_repeated() -> None:
    assert lookalikes("рау\u0301pal") == ["“рауpal” has р (U+0440), а (U+0430), у (U+0443)"]
    [said] = lookalikes("x" * 500 + "".join(map(chr, range(0x430, 0x450))) + "x" * 500)
    assert said.startswith("“…xxx")
    assert said.endswith(" and 27 more")
    assert len(said) < 160


@pytest.mark.parametrize("unit", ["я", "aя", "\u2044", "a\u2044", "\u0301", "中", "\u200b", "aя "])
def test_the_time_grows_with_the_length(unit: str) -> None:
    def seconds(length: int) -> float:
        def once() -> float:
            start = time.thread_time()
            visible(unit * length), count_marks(unit * length), lookalikes(unit * length)
            return time.thread_time() - start

        return min(once() for _ in range(3))

    assert seconds(8_000) < 10 * seconds(2_000) + 0.02


@pytest.mark.parametrize("text", ["Москва", "Größe, naïve", "αβγ", "东京 Tokyo", "plain"])
def test_words_of_one_alphabet_are_no_lookalikes(text: str) -> None:
    assert lookalikes(text) == []


def test_more_look_alikes_than_are_named_are_counted() -> None:
    lines = pretences({"note": " ".join(f"w{n}\u0430" for n in range(7))}, "p\u0430ypal")
    assert len([line for line in lines if "others: “" in line]) == 5
    assert lines[-1] == "letters that look like others in more words: 3."


def test_words_from_right_to_left_are_told() -> None:
    [line] = pretences({"command": "cp \u05d0 1 2 \u05d1"})
    assert "another order than they stand in" in line
    assert pretences({"command": "cp a 1 2 b"}) == []
