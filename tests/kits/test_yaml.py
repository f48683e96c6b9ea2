"""YAML means the same in agent files, skills and OpenAPI documents, and cannot do harm."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolwright import OpenAPIToolset, Skill, UsageError, load_agent_file
from toolwright._yaml import Lines, YamlError, load_yaml
from toolwright.sources.openapi._load import parse_text


def load(text: str | bytes, *, text_keys: bool = False, aliases: bool = True) -> Any:
    return load_yaml(text, text_keys=text_keys, aliases=aliases)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("no", "no"), ("on", "on"), ("yes", "yes"), ("off", "off"), ("y", "y"),
        ("true", True), ("True", True), ("FALSE", False),
        ("22:22", "22:22"), ("2024-01-31", "2024-01-31"), ("1_000", "1_000"),
        ("010", 10), ("0o17", 15), ("0x1F", 31), ("-7", -7), ("+7", 7),
        ("1e3", 1000.0), ("1.5", 1.5), (".5", 0.5), ("-.inf", -math.inf), ("1.", 1.0),
        ("~", None), ("null", None), ("", None), ("nullable", "nullable"), ("=", "="),
        ("'true'", "true"), ('"1"', "1"),
    ],
)  # fmt: skip
def test_plain_values_are_those_of_yaml_1_2(text: str, value: Any) -> None:
    found = load(f"key: {text}\n")["key"]
    assert found == value
    assert type(found) is type(value)


def test_a_merge_key_still_merges_and_is_no_key_twice() -> None:
    text = "a: &a {x: 1, y: 2}\nb: {<<: *a, y: 3}\nc: {<<: *a, <<: {z: 1}}\n"
    assert load(text)["b"] == {"x": 1, "y": 3}


def test_a_key_twice_is_refused_with_both_lines() -> None:
    with pytest.raises(YamlError, match=r"'dup' is there twice, first in line 2 \(line 4\)"):
        load("a:\n  dup: 1\n  other: 2\n  dup: 3\n")
    assert load("1: a\n'1': b\n") == {1: "a", "1": "b"}
    with pytest.raises(YamlError, match="'1' is there twice"):
        load("1: a\n'1': b\n", text_keys=True)


def test_keys_can_all_be_texts() -> None:
    text = "200: a\ntrue: b\n~: c\nno: d\n1.5: e\n"
    assert list(load(text, text_keys=True)) == ["200", "true", "null", "no", "1.5"]


def test_an_alias_that_contains_itself_is_refused() -> None:
    for text in ("a: &a [*a]\n", "a: &a {b: *a}\n", b"a: &a [*a]\n"):
        with pytest.raises(YamlError, match="an alias contains itself"):
            load(text)


def test_aliases_that_multiply_are_refused() -> None:
    text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"a{number}: &a{number} [{', '.join([f'*a{number - 1}'] * 10)}]\n" for number in range(1, 9)
    )
    with pytest.raises(YamlError, match="make more than 1,000,000 values"):
        load(text)


def test_an_alias_is_a_copy_unless_none_is_allowed() -> None:
    assert load("a: &a [1]\nb: *a\n") == {"a": [1], "b": [1]}
    with pytest.raises(YamlError, match=r"aliases are not allowed \(line 2\)"):
        load("a: &a [1]\nb: *a\n", aliases=False)


@pytest.mark.parametrize("opening", ["[", "{a: ", "- "])
def test_nesting_has_an_end(opening: str) -> None:
    with pytest.raises(YamlError, match="more than 200 levels deep"):
        load(opening * 200_000)
    assert load("[" * 150 + "]" * 150)
    assert len(load("[[1]], [[2]]".join("[]"))) == 2
    assert len(load("- [1]\n" * 1000)) == 1000


@pytest.mark.parametrize(
    "text",
    ["9" * 5000, "a: !!python/object:os.system x", "a: [", "\x00", "a: b: c", b"\xff\xfe\xfa"],
)
def test_what_cannot_be_read_is_one_kind_of_error(text: str | bytes) -> None:
    with pytest.raises(YamlError):
        load(text)


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        load(text)
    except YamlError:
        return


# -- agent files ----------------------------------------------------------------------------


def agent_file(folder: Path, text: str | bytes) -> Path:
    file = folder / "agent.yaml"
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return file


def test_an_agent_may_be_called_no(tmp_path: Path) -> None:
    loaded = load_agent_file(agent_file(tmp_path, "name: no\ndescription: 22:22\n"))
    assert (loaded.agent.name, loaded.agent.description) == ("no", "22:22")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("name: a\nname: b\n", r":2: this is not YAML: 'name' is there twice, first in line 1\.$"),
        ("name: a\ntools: &t\n  more: *t\n", ":3: this is not YAML: an alias contains itself"),
        ("name: a\ndescription: caf\xe9\n".encode("latin-1"), ":2: this is not UTF-8"),
        ("name: a: b\n", ":1: this is not YAML: mapping values"),
        ("on: 1\n", ":1: on: there is no such setting"),
    ],
)
def test_mistakes_in_an_agent_file_are_told_with_their_line(
    text: str | bytes, told: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=told):
        load_agent_file(agent_file(tmp_path, text))


def test_a_part_with_nothing_below_it_is_as_if_it_were_not_there(tmp_path: Path) -> None:
    empty = load_agent_file(agent_file(tmp_path, "name: a\ntools:\nlimits:\napprovals:\n"))
    bare = load_agent_file(agent_file(tmp_path, "name: a\n"))
    assert empty.settings == bare.settings


# -- skills and OpenAPI ---------------------------------------------------------------------


def test_a_skill_may_be_called_on(tmp_path: Path) -> None:
    folder = tmp_path / "on"
    folder.mkdir()
    (folder / "SKILL.md").write_text("---\nname: on\ndescription: no\n---\nDo it.\n")
    assert Skill.from_directory(folder).description == "no"


def test_keys_of_a_document_are_texts_and_none_is_there_twice() -> None:
    parsed = parse_text("responses:\n  200: a\n  no: c\n", "yaml", origin="x")
    assert parsed == {"responses": {"200": "a", "no": "c"}}
    with pytest.raises(UsageError, match=r"x is not YAML: '200' is there twice, first in line 2"):
        parse_text("responses:\n  200: a\n  '200': b\n", "yaml", origin="x")


def test_a_document_does_not_end_the_process() -> None:
    for text in ("[" * 200_000, "a: &a [*a]"):
        with pytest.raises(UsageError, match="spec_str is not YAML"):
            OpenAPIToolset(spec_str=text, spec_str_type="yaml")


# -- what YAML 1.2 and its other readers take -------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: [b, =]", {"a": ["b", "="]}),
        ('a: "\x80\x9f\x7f"', {"a": "\x80\x9f\x7f"}),
        ("\x80: 1", {"\x80": 1}),
        ("a: b\x85c\u2028d\u2029e\nf: 1", {"a": "b\x85c\u2028d\u2029e", "f": 1}),
        ("a: |\n  b\x85\n  c\n", {"a": "b\x85\nc\n"}),
        ("a: |\n  \t\n  hi\n", {"a": "\t\nhi\n"}),
        ("a: |\n\n  \tx\n  hi\n", {"a": "\n\tx\nhi\n"}),
        ("a: >-\n  hi\n\t\n  there\nb: 1\n", {"a": "hi\nthere", "b": 1}),
        ("a: 1\n\t\nb: 2\n", {"a": 1, "b": 2}),
        ("a: 1\n  \t# a note\nb: 2\n", {"a": 1, "b": 2}),
        ("a:\tb\nc: d\t\n", {"a": "b", "c": "d"}),
        ("\n".join(f"a{n}: {n}\n\t" for n in range(9)), {f"a{n}": n for n in range(9)}),
        ("a: \U000f0001\x80\U00100001", {"a": "\U000f0001\x80\U00100001"}),
    ],
    ids=["equals", "c1", "c1-key", "no-breaks", "next-line", "tab-first", "tab-text", "tab-between",
         "tab-blank", "tab-note", "tab-after", "many-tabs", "private"],
)  # fmt: skip
def test_what_others_read_is_read(text: str, value: Any) -> None:
    assert load(text) == value
    assert load(text.encode()) == value
    assert load(text.encode("utf-8-sig")) == value
    assert load("\ufeff" + text) == value
    assert load(text.encode("utf-16")) == value


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: 1\n\tb: 2\n", r"a tab character that violates indentation \(line 2\)"),
        ("a:\n\tb: 2\n", r"cannot start any token \(line 2\)"),
        ("a:\n  b: 1\n\tc: 2\n", "line 3"),
        ("a: 1\nb: \x01\n", r"the character U\+0001 is not allowed \(line 2\)"),
        ("a: 1\n---\nb: 2\n", r"there is a second document \(line 2\)"),
        ("a: *b\n", r"nothing is called 'b' before this alias \(line 1\)"),
        ("a: !ruby/object x\n", r"the tag '!ruby/object' is not known here \(line 1\)"),
        ("a: !!int x\n", r"'x' is no int \(line 1\)"),
        ("a: 1\n? [b]\n: 2\n", r"a key must be a single value \(line 2\)"),
        ("a:\n  <<: 5\n", r"'<<' takes a mapping.*\(line 2\)"),
        (b"a: 1\nb: \xff\n", r"this is not utf-8.*\(line 2\)"),
    ],
    ids=[
        "tab",
        "tab-indent",
        "tab-below",
        "control",
        "second",
        "alias",
        "tag",
        "typed",
        "key",
        "merge",
        "bytes",
    ],
)
def test_what_cannot_be_read_is_told_with_its_line(text: str | bytes, problem: str) -> None:
    with pytest.raises(YamlError, match=problem):
        load(text)


def test_tags_of_the_standard_are_believed() -> None:
    text = "a: !!str 5\nb: !!float 1\nc: !!int '7'\nd: ! 5\ne: !!map {}\nf: !!seq []\n"
    assert load(text) == {"a": "5", "b": 1.0, "c": 7, "d": "5", "e": {}, "f": []}


def test_lines_are_those_of_keys_and_items() -> None:
    lines: dict[tuple[str, ...], int] = {}
    load_yaml("a:\n  b: 1\n  c:\n    - x\n    -\n      d: 2\n\t\n7: y\n", lines=lines)
    assert lines == {
        (): 1, ("a",): 1, ("a", "b"): 2, ("a", "c"): 3, ("a", "c", "0"): 4, ("a", "c", "1"): 6,
        ("a", "c", "1", "d"): 6, ("7",): 8,
    }  # fmt: skip


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@given(json_values, st.sampled_from([None, 2, "\t"]))
def test_json_is_yaml(value: Any, indent: int | str | None) -> None:
    """What YAML 1.2 promises; nothing of the text is hidden or mended in a way that shows."""
    assert load(json.dumps(value, ensure_ascii=False, indent=indent)) == value


PIECES = [
    "a: ", "- ", "? ", ": ", "\n", "  ", "\t", "{", "}", "[", "]", ", ", "#", "|", ">-", "'", '"', "---\n",
    "...\n", "%YAML 1.3\n", "%TAG ! x\n", "&a ", "*a ", "<<: ", "!", "!<", "!a!b ", "!!timestamp xx",
    "!!bool xx", "!!float ''", "!!float ", "!!int ", "!!null x", "!!set ", "!!binary x", "!!map ",
    "0x" + "f" * 600, "9" * 5000, "9" * 400, "0o" + "7" * 501, "1e999", ".nan", '"\\ud800"', '"\\u12"',
    "\0", "\x7f", "\x85", "\u2028", "\ud800", "\ufeff", "\U000f0000", "é", "[" * 300,
]  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=8).map("".join), st.booleans(), st.booleans())
def test_any_text_is_a_value_that_can_be_written_or_an_error_with_its_line(
    text: str, in_bytes: bool, text_keys: bool
) -> None:
    written = text.encode("utf-8", "surrogatepass") if in_bytes else text
    lines: Lines = {}
    try:
        value, line = load_yaml(written, text_keys=text_keys, lines=lines), 1
    except YamlError as error:
        value, line = None, error.line
    assert repr(value)  # Also numbers, of which Python does not write all.
    assert line is not None
    assert 1 <= line <= len(text.splitlines()) + 1


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: 1\nb: 0x" + "f" * 600, "a number has 602 digits; at most 500 are read (line 2)"),
        ("a: 1\n" + "9" * 600 + ": b", "a number has 600 digits; at most 500 are read (line 2)"),
        ("a: 1\nb: !!int " + "9" * 501, "a number has 501 digits; at most 500 are read (line 2)"),
        ("&a a: 1\n*a : 2", "'a' is there twice, first in line 1 (line 2)"),
        ("a: 1\nb: \ud800", "the character U+D800 is not allowed (line 2)"),
        ("a: 1\nb: !!bool xx", "'xx' is no bool (line 2)"),
        ("a: 1\nb: !!float ''", "'' is no float (line 2)"),
    ],
    ids=["hexadecimal", "a key", "tagged", "an alias twice", "half a letter", "bool", "float"],
)
def test_what_cannot_be_taken_is_told_with_its_line(text: str, problem: str) -> None:
    with pytest.raises(YamlError) as caught:
        load_yaml(text)
    assert str(caught.value) == problem


def test_a_whole_number_beyond_all_floats_is_no_float() -> None:
    assert load_yaml("9" * 500) == int("9" * 500)
    with pytest.raises(YamlError, match=r"is no float \(line 1\)"):
        load_yaml("!!float " + "9" * 500)


@pytest.mark.parametrize(
    "value",
    ["!!timestamp xx", "!!bool xx", "!!float ''", "0x" + "f" * 6000],
    ids=["time", "bool", "float", "hexadecimal"],
)
def test_every_reader_tells_the_line_of_a_value_that_is_none(tmp_path: Path, value: str) -> None:
    file = tmp_path / "agent.yaml"
    file.write_text(f"name: a\nmodel: {value}\n")
    with pytest.raises(UsageError, match="2"):
        load_agent_file(file)
    with pytest.raises(UsageError, match="line 2"):
        parse_text(f"openapi: 3.1.0\ninfo: {value}\n", "yaml", origin="x")
