"""Edits change the place they name, and no other byte."""

import codecs

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from toolwright.backends.files import Edit, apply_edit
from toolwright.errors import ToolError

_ENDINGS = st.sampled_from(["\n", "\r\n", "\r", ""])
_LINE = st.text(st.sampled_from("ab \t'\"-é“x"), max_size=8)
_TEXTS = st.lists(st.tuples(_LINE, _ENDINGS), max_size=12).map(
    lambda lines: "".join(line + ending for line, ending in lines)
)
_ENCODINGS = st.sampled_from(
    [
        (b"", "utf-8"),
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
    ]
)


def _edit(data: bytes, old: str, new: str, replace_all: bool = False) -> bytes:
    return apply_edit(data, Edit(old=old, new=new, replace_all=replace_all)).data


def _bare(text: str) -> str:
    return "".join(text.replace("“", '"').split())


@given(_TEXTS, _TEXTS, st.text("MARK\n", min_size=1, max_size=6), _ENCODINGS)
def test_an_exact_edit_changes_only_its_span(
    before: str, after: str, new: str, encoding: tuple[bytes, str]
) -> None:
    mark, codec = encoding
    data = mark + (before + "<<here>>" + after).encode(codec)
    edited = _edit(data, "<<here>>", new)
    assert edited.startswith(mark + before.encode(codec))
    assert edited.endswith(after.encode(codec))


@given(_TEXTS, _TEXTS)
def test_a_tolerant_edit_takes_out_nothing_but_what_was_named(text: str, old: str) -> None:
    """However the place was found, what went is the old text but for whitespace and typography."""
    assume(old)
    try:
        edited = _edit(text.encode(), old, "⟦NEW⟧").decode()
    except ToolError:
        return
    before, _, after = edited.partition("⟦NEW⟧")
    assert text.startswith(before)
    assert text.endswith(after)
    assert _bare(text[len(before) : len(text) - len(after)]) == _bare(old)


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_new_lines_get_the_line_ending_of_the_place(ending: str) -> None:
    data = ending.join(["one", "two", "three"]).encode()
    assert _edit(data, "two", "2\nII") == ending.join(["one", "2", "II", "three"]).encode()


def test_a_mixed_file_keeps_each_line_ending() -> None:
    assert _edit(b"a\r\nb\nc\r\nd", "b\nc", "B\nC") == b"a\r\nB\nC\r\nd"


def test_latin_1_stays_latin_1() -> None:
    data = "caf\u00e9 = 1\n".encode("latin-1")
    assert _edit(data, "= 1", "= 2") == "caf\u00e9 = 2\n".encode("latin-1")
    with pytest.raises(ToolError, match="latin-1, which has no '€'"):
        _edit(data, "= 1", "= €")


def test_a_file_without_a_final_newline_gets_none() -> None:
    assert _edit(b"a\nb", "b", "c") == b"a\nc"


@pytest.mark.parametrize(
    ("text", "old", "how", "result"),
    [
        ("a\r\nb\r\n", "a\nb", "line endings", "x\r\n"),
        ("say “hi” — now", 'say "hi" - now', "similar characters", "x"),
        ("a  \nb\t\nc", "a\nb\n", "trailing whitespace", "xc"),
        ("if y:\n    a\n    b\nc", "a\nb\n", "indentation", "if y:\n    xc"),
    ],
)
def test_tolerant_ways_are_tried_in_turn_and_named(
    text: str, old: str, how: str, result: str
) -> None:
    edited = apply_edit(text.encode(), Edit(old=old, new="x"))
    assert (edited.how, edited.data.decode()) == (how, result)


def test_a_replacement_takes_the_indentation_of_its_place() -> None:
    text = b"class A:\n        def f(self):\n            return 1\n"
    edited = _edit(text, "def f(self):\n    return 1\n", "def f(self):\n    return 2\n")
    assert edited == b"class A:\n        def f(self):\n            return 2\n"


@pytest.mark.row("000-37")
def test_a_place_that_is_there_twice_is_refused_unless_all_are_meant() -> None:
    with pytest.raises(ToolError) as refused:
        apply_edit(b"x\ny\nx\n", Edit(old="x", new="z", all_name="replace_all"))
    assert str(refused.value) == snapshot(
        "old_string appears 2 times. Provide more context to make it unique, or set "
        "replace_all=True. It begins on lines 1, 3."
    )
    assert apply_edit(b"x\ny\nx\n", Edit(old="x", new="z", replace_all=True)).occurrences == 2


def test_overlapping_places_are_ambiguous_and_replaced_once() -> None:
    with pytest.raises(ToolError, match="appears 2 times"):
        _edit(b"aaa", "aa", "b")
    assert _edit(b"aaa", "aa", "b", replace_all=True) == b"ba"


def test_a_text_that_is_not_there_is_answered_with_the_nearest() -> None:
    text = b"def first():\n\treturn 1 \n\ndef second():\n    return 2\n"
    with pytest.raises(ToolError) as refused:
        _edit(text, "def first():\n    return 10", "x")
    assert str(refused.value) == snapshot(
        """\
old_string not found in file content. The nearest text (spaces at the ends of lines shown as ·, tabs as →) is:
     1 | def first():
     2 | →return 1·\
"""
    )


@pytest.mark.parametrize(
    ("data", "old", "new", "message"),
    [
        (b"a", "a", "a", "old_string and new_string are identical"),
        (b"a", "", "b", "old_string is empty"),
        (b"a\0b", "a", "b", "binary"),
        (b"", "a", "b", "old_string not found in file content. Read the file"),
    ],
)
def test_edits_that_make_no_sense_are_refused(
    data: bytes, old: str, new: str, message: str
) -> None:
    with pytest.raises(ToolError, match=message):
        _edit(data, old, new)


def test_in_a_long_file_too_an_edit_that_misses_is_told_the_nearest_text() -> None:
    data = "".join(f"line number {n} of many\n" for n in range(100_000)).encode()
    _edit(data, "line number 99998 of many\nline number 99999", "x")
    with pytest.raises(ToolError, match="nearest text"):
        _edit(data, "line nunber 19998 of mamy", "x")
