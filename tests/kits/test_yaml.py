"""YAML means the same in agent files, skills and OpenAPI documents, and cannot do harm."""

import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwright import OpenAPIToolset, Skill, UsageError, load_agent_file
from toolwright._yaml import YamlError, load_yaml
from toolwright.sources.openapi._load import parse_text


def load(text: str | bytes, **settings: bool) -> Any:
    return load_yaml(text, **settings)[0]


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
    assert load("dup: 1\ndup: 2\n", unique_keys=False) == {"dup": 2}
    assert load("1: a\n'1': b\n") == {1: "a", "1": "b"}


def test_keys_can_all_be_texts() -> None:
    text = "200: a\ntrue: b\n~: c\nno: d\n1.5: e\n"
    assert list(load(text, text_keys=True)) == ["200", "true", "null", "no", "1.5"]


@pytest.mark.parametrize("unique_keys", [True, False])
def test_an_alias_that_contains_itself_is_refused(unique_keys: bool) -> None:
    for text in ("a: &a [*a]\n", "a: &a {b: *a}\n", b"a: &a [*a]\n"):
        with pytest.raises(YamlError, match="an alias contains itself"):
            load(text, unique_keys=unique_keys)


@pytest.mark.parametrize("unique_keys", [True, False])
def test_aliases_that_multiply_are_refused(unique_keys: bool) -> None:
    text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"a{number}: &a{number} [{', '.join([f'*a{number - 1}'] * 10)}]\n" for number in range(1, 9)
    )
    with pytest.raises(YamlError, match="make more than 1,000,000 values"):
        load(text, unique_keys=unique_keys)


def test_an_alias_is_a_copy_unless_none_is_allowed() -> None:
    assert load("a: &a [1]\nb: *a\n") == {"a": [1], "b": [1]}
    with pytest.raises(YamlError, match=r"aliases are not allowed \(line 1\)"):
        load("a: &a [1]\nb: *a\n", aliases=False)


@pytest.mark.parametrize("opening", ["[", "{a: ", "- ", "? "])
def test_nesting_has_an_end(opening: str) -> None:
    """The C loader ends the whole process here when nobody counts."""
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
        ("name: a\ntools: &t\n  more: *t\n", ":2: this is not YAML: an alias contains itself"),
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


def test_a_document_of_others_may_repeat_a_key_but_not_end_the_process() -> None:
    parsed = parse_text("responses:\n  200: a\n  200: b\n  no: c\n", "yaml", origin="x")
    assert parsed == {"responses": {"200": "b", "no": "c"}}
    for text in ("[" * 200_000, "a: &a [*a]"):
        with pytest.raises(UsageError, match="spec_str is not YAML"):
            OpenAPIToolset(spec_str=text, spec_str_type="yaml")
