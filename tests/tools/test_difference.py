"""A tool has changed when the JSON that it is written as has, whatever Python calls equal."""

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwright import ToolError
from toolwright.sources._as_listed import refuse_changed
from toolwright.tools import difference, digest_of

EQUAL_TO_PYTHON: list[list[Any]] = [[1, True, 1.0], [0, False, 0.0, -0.0], [[1], [True]]]
PAIRS = [pair for same in EQUAL_TO_PYTHON for pair in itertools.permutations(same, 2)]

PLACES: dict[str, Any] = {
    "a part": lambda value: {"returns": value},
    "a part of a source's own": lambda value: {"limits": {"most": value}},
    "a parameter": lambda value: {"parameters": {"properties": {"n": {"default": value}}}},
    "deep in a parameter": lambda value: {"parameters": {"properties": {"n": {"enum": [value]}}}},
    "the rest of a schema": lambda value: {"parameters": {"additionalProperties": value}},
    "properties that are none": lambda value: {"parameters": {"properties": value}},
    "a schema that is none": lambda value: {"parameters": value},
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(("old", "new"), PAIRS, ids=repr)
def test_what_json_tells_apart_is_a_change_wherever_it_is(place: str, old: Any, new: Any) -> None:
    at = PLACES[place]
    assert at(old) == at(new), "which Python does not notice"
    assert difference(at(old), at(new))
    assert not difference(at(old), at(old))
    with pytest.raises(ToolError, match="has changed it since it was listed"):
        refuse_changed("send", "the server", at(old), at(new))
    refuse_changed("send", "the server", at(old), at(old))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(0, 2) | st.sampled_from([0.0, 1.0]) | st.text(max_size=1),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner),
    max_leaves=4,
)  # fmt: skip
definitions = st.fixed_dictionaries(
    {"description": json_values, "other": json_values},
    optional={"parameters": st.dictionaries(st.sampled_from(["properties", "x"]), json_values)},
)


@given(definitions, definitions)
def test_there_is_a_difference_to_show_exactly_where_the_digests_differ(old: Any, new: Any) -> None:
    told = difference(old, new)
    assert bool(told) == (digest_of(old) != digest_of(new))
    assert told == difference(old, new), "in the same order each time"
