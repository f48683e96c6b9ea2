"""Every parameter style, written and read back."""

from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwright.errors import ToolError
from toolwright.sources.openapi._styles import cookie_text, header_text, path_text, query_pairs

texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
lists = st.lists(texts, min_size=1, max_size=4)
objects = st.dictionaries(texts, texts, min_size=1, max_size=4)
Reader = Callable[[str], Any]

# What the OpenAPI specification's table of styles shows for these three values.
BLUE, COLORS, RGB = "blue", ["blue", "black", "brown"], {"R": 100, "G": 200, "B": 150}


@pytest.mark.parametrize(
    ("style", "explode", "text", "array", "mapping"),
    [
        ("matrix", False, ";color=blue", ";color=blue,black,brown", ";color=R,100,G,200,B,150"),
        (
            "matrix",
            True,
            ";color=blue",
            ";color=blue;color=black;color=brown",
            ";R=100;G=200;B=150",
        ),
        ("label", False, ".blue", ".blue,black,brown", ".R,100,G,200,B,150"),
        ("label", True, ".blue", ".blue.black.brown", ".R=100.G=200.B=150"),
        ("simple", False, "blue", "blue,black,brown", "R,100,G,200,B,150"),
        ("simple", True, "blue", "blue,black,brown", "R=100,G=200,B=150"),
    ],
)
def test_path_styles_are_written_as_the_specification_shows(
    style: str, explode: bool, text: str, array: str, mapping: str
) -> None:
    written = [path_text("color", v, style=style, explode=explode) for v in (BLUE, COLORS, RGB)]
    assert written == [text, array, mapping]


@pytest.mark.parametrize(
    ("style", "explode", "array", "mapping"),
    [
        ("form", False, "color=blue,black,brown", "color=R,100,G,200,B,150"),
        ("form", True, "color=blue&color=black&color=brown", "R=100&G=200&B=150"),
        (
            "spaceDelimited",
            False,
            "color=blue%20black%20brown",
            "color=R%20100%20G%20200%20B%20150",
        ),
        ("pipeDelimited", False, "color=blue|black|brown", "color=R|100|G|200|B|150"),
    ],
)
def test_query_styles_are_written_as_the_specification_shows(
    style: str, explode: bool, array: str, mapping: str
) -> None:
    def query(value: Any) -> str:
        pairs = query_pairs("color", value, style=style, explode=explode)
        return "&".join(f"{key}={text}" for key, text in pairs)

    assert [query(COLORS), query(RGB)] == [array, mapping]


def test_deep_objects_are_written_with_brackets() -> None:
    value = {"R": 100, "in": {"a": True}, "list": ["x", "y"]}
    pairs = query_pairs("color", value, style="deepObject")
    assert pairs == [
        ("color[R]", "100"),
        ("color[in][a]", "true"),
        ("color[list]", "x"),
        ("color[list]", "y"),
    ]


def test_reserved_characters_are_kept_only_where_allowed() -> None:
    assert query_pairs("q", "a/b?c&d=e#f") == [("q", "a%2Fb%3Fc%26d%3De%23f")]
    assert query_pairs("q", "a/b?c&d=e#f", reserved=True) == [("q", "a/b?c%26d%3De%23f")]


@given(lists, st.sampled_from([("form", ","), ("spaceDelimited", "%20"), ("pipeDelimited", "|")]))
def test_lists_in_a_query_can_be_read_back(values: list[str], style: tuple[str, str]) -> None:
    name, delimiter = style
    ((key, text),) = query_pairs("k", values, style=name, explode=False)
    # A blank inside a value looks like the delimiter of spaceDelimited; the format is like that.
    if name != "spaceDelimited" or not any(" " in value for value in values):
        assert [unquote(part) for part in text.split(delimiter)] == values
    assert key == "k"


@given(lists)
def test_exploded_lists_in_a_query_can_be_read_back(values: list[str]) -> None:
    assert [(k, unquote(v)) for k, v in query_pairs("k", values)] == [("k", v) for v in values]


@given(objects)
def test_objects_in_a_query_can_be_read_back(values: dict[str, str]) -> None:
    exploded = {unquote(k): unquote(v) for k, v in query_pairs("k", values)}
    deep = {unquote(k[2:-1]): unquote(v) for k, v in query_pairs("k", values, style="deepObject")}
    ((_, text),) = query_pairs("k", values, explode=False)
    flat = [unquote(part) for part in text.split(",")]
    assert exploded == deep == dict(zip(flat[::2], flat[1::2], strict=True)) == values


@given(texts, lists, objects)
def test_path_values_can_be_read_back_and_never_start_another_segment(
    text: str, array: list[str], mapping: dict[str, str]
) -> None:
    simple = path_text("k", array)
    assert [unquote(part) for part in simple.split(",")] == array
    pairs = path_text("k", mapping, style="matrix", explode=True)[1:].split(";")
    assert {unquote(k): unquote(v) for k, _, v in (p.partition("=") for p in pairs)} == mapping
    assert unquote(path_text("k", text, style="label")) == f".{text}"
    for written in (simple, path_text("k", text), path_text("k", mapping)):
        assert not set(written) & set("/?#")


@given(st.text(max_size=8))
def test_headers_are_one_line_of_ascii_or_refused(text: str) -> None:
    try:
        written = header_text(text)
    except ToolError:
        assert any(ord(char) < 32 or ord(char) == 127 for char in text)
    except UnicodeEncodeError:
        assert not text.isprintable()
    else:
        assert written.isascii()
        assert not set(written) & set("\r\n")


@given(texts)
def test_a_cookie_cannot_start_another_cookie(text: str) -> None:
    name, _, value = cookie_text("k", text).partition("=")
    assert (name, unquote(value)) == ("k", text)
    assert ";" not in value
