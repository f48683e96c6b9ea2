"""A digest of a part of a document covers all that it refers to, and nothing else."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwright.sources.openapi._digests import Digests
from toolwright.sources.openapi._document import Document, document_at

Graph = list[list[int]]
"""Which schemas each schema refers to."""


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    size = draw(st.integers(1, 7))
    return [draw(st.lists(st.integers(0, size - 1), max_size=3)) for _ in range(size)]


def document(graph: Graph, other: int | None = None) -> Document:
    """A document with these schemas; the one numbered `other` says something else."""
    schemas = {
        str(number): {
            "title": "other" if number == other else "same",
            "allOf": [{"$ref": f"#/schemas/{target}"} for target in targets],
        }
        for number, targets in enumerate(graph)
    }
    return Document({"schemas": schemas})


def part(number: int) -> Any:
    return [{"$ref": f"#/schemas/{number}"}]


def reachable(graph: Graph, start: int) -> set[int]:
    found, waiting = {start}, [start]
    while waiting:
        new = set(graph[waiting.pop()]) - found
        found |= new
        waiting += new
    return found


@given(graphs(), st.data())
def test_a_digest_changes_when_something_changes_that_is_referred_to_and_only_then(
    graph: Graph, data: st.DataObject
) -> None:
    start = data.draw(st.integers(0, len(graph) - 1))
    other = data.draw(st.integers(0, len(graph) - 1))
    before = Digests().of(part(start), document(graph))
    after = Digests().of(part(start), document(graph, other))
    assert (before != after) == (other in reachable(graph, start))


@given(graphs(), st.data())
def test_a_digest_does_not_depend_on_what_was_looked_at_before(
    graph: Graph, data: st.DataObject
) -> None:
    order = data.draw(st.permutations(range(len(graph))))
    digests, home = Digests(), document(graph)
    found = {number: digests.of(part(number), home) for number in order}
    assert found == {number: Digests().of(part(number), document(graph)) for number in order}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": 1}, {"a": "1"}),
        ({"a": 1}, {"a": True}),
        ({"a": None}, {"a": "None"}),
        ({"a": None}, {}),
        (["ab", "c"], ["a", "bc"]),
        ([["a"], "b"], [["a", "b"]]),
        ({"a": {"b": 1}}, {"a": ["b", 1]}),
        ([1, 2], [2, 1]),
        (["s1:a"], ["a"]),
    ],
    ids=str,
)
def test_values_that_differ_have_different_digests(one: Any, other: Any) -> None:
    home = Document({})
    assert Digests().of(one, home) != Digests().of(other, home)


def test_the_order_of_fields_makes_no_difference() -> None:
    home = Document({})
    assert Digests().of({"a": 1, "b": 2}, home) == Digests().of({"b": 2, "a": 1}, home)


def test_what_is_there_many_times_or_inside_itself_is_looked_at_once() -> None:
    bomb: list[Any] = ["x"]
    for _ in range(90):
        bomb = [bomb, bomb]
    circle: dict[str, Any] = {}
    circle["self"] = circle
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    home = Document({})
    assert len({Digests().of(node, home) for node in (bomb, circle, deep)}) == 3


def test_long_chains_and_references_that_lead_nowhere_are_no_trouble() -> None:
    graph = [[number + 1] for number in range(5000)] + [[]]
    assert Digests().of(part(0), document(graph)) != Digests().of(part(0), document(graph, 5000))
    assert Digests().of(part(0), Document({})) != Digests().of(part(1), Document({}))


def test_files_beside_a_document_count(tmp_path: Path) -> None:
    (tmp_path / "api.json").write_text(json.dumps({"openapi": "3.0.0"}))

    def digest(said: str) -> str:
        (tmp_path / "more.json").write_text(json.dumps({"a": {"title": said}}))
        return Digests().of({"$ref": "more.json#/a"}, document_at(tmp_path / "api.json", 1000))

    assert digest("one") == digest("one") != digest("two")


def test_files_of_the_web_count_where_they_were_fetched() -> None:
    def digest(ref: str, *fetched: bytes) -> str:
        web = Document({"b": {"title": "here"}}, base="https://api.example/api.json")
        for content in fetched:
            web.add("https://api.example/more.json", content)
        return Digests().of({"$ref": ref}, web)

    told = {digest("more.json#/a"), digest("more.json#/b"), digest("api.json#/b")}
    told |= {digest("more.json#/a", b'{"a": 1}'), digest("more.json#/a", b'{"a": 2}')}
    assert len(told) == 5
    assert digest("more.json#/a", b"{") == digest("more.json#/a")
