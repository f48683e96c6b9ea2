"""Whatever schema is taken from outside, everything that is made of it is made, in time and bounded."""

import ast
import json
import time
from contextlib import suppress
from typing import Any

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from toolwright.builtin.codemode._stubs import make_stub
from toolwright.errors import UsageError
from toolwright.messages import ToolSpec
from toolwright.models._dialects import all_required, gemini_schema, strict_schema
from toolwright.tools import Output, SchemaCheck, Tool, checked_parser

NAMES = st.sampled_from(["a", "b", "$ref", "class", "x y"])
REFERENCES = st.sampled_from([*(f"#/$defs/d{number}" for number in range(4)), "#"])
LEAVES: st.SearchStrategy[Any] = st.one_of(
    st.booleans(),
    REFERENCES.map(lambda reference: {"$ref": reference}),
    st.sampled_from([
        {}, {"type": "string", "format": "date"}, {"type": ["object", "array", "string"]},
        {"enum": [1, None, {"a": []}]}, {"const": {"a": 1}}, {"default": {"x": 1}},
    ]),
)  # fmt: skip


def nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    several = st.lists(inner, min_size=1, max_size=3)
    by_name = st.dictionaries(NAMES, inner, max_size=3)
    kinds = ["object", "array", ["object", "array", "null"], ["object", "array"]]
    keyword = st.one_of(
        st.tuples(st.sampled_from(["anyOf", "oneOf", "allOf", "prefixItems"]), several),
        st.tuples(
            st.sampled_from(["not", "if", "items", "contains", "additionalProperties"]), inner
        ),
        st.tuples(
            st.sampled_from(["properties", "dependentSchemas", "patternProperties"]), by_name
        ),
        st.tuples(st.just("type"), st.sampled_from(kinds)),
        st.tuples(st.just("required"), st.lists(NAMES, max_size=2, unique=True)),
        st.tuples(st.just("description"), st.just('q"""\\')),
    )
    return st.lists(keyword, min_size=1, max_size=4).map(dict)


SCHEMAS = st.recursive(LEAVES, nested, max_leaves=20)


async def run(*_: Any) -> Output:
    return Output()


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(SCHEMAS, min_size=4, max_size=4), st.dictionaries(NAMES, SCHEMAS, max_size=3), SCHEMAS
)
def test_dialects_and_stubs_are_made_of_every_schema_that_is_taken(
    parts: list[Any], properties: dict[str, Any], returned: Any
) -> None:
    defs = {f"d{number}": part for number, part in enumerate(parts)}
    schema = {"type": "object", "properties": properties, "$defs": defs}
    returns = {"type": "object", "$defs": defs, "allOf": [returned]}
    parse = None
    with suppress(UsageError):
        parse = checked_parser("t", schema)
        SchemaCheck(returns)
    assume(parse is not None)
    assert parse is not None
    began, size = time.thread_time(), len(json.dumps([schema, returns]))
    strict_schema(schema)
    all_required(schema)
    assert len(json.dumps(gemini_schema(schema))) < 20 * size
    spec = ToolSpec(name="t", parameters=schema, returns=returns)
    text = make_stub(Tool(spec=spec, parse=parse, run=run)).text
    ast.parse(text)
    assert len(text) < 20 * size
    assert time.thread_time() - began < 2


def test_alternatives_that_multiply_are_written_once_each() -> None:
    levels = {f"l{n}": {"anyOf": [{"$ref": f"#/$defs/l{n + 1}"}] * 2} for n in range(14)}
    kinds: Any = {"type": "string"}
    for _ in range(14):
        kinds = {"type": ["object", "array", "string"], "properties": {"a": kinds}}
    schema = {
        "type": "object",
        "properties": {"x": {"$ref": "#/$defs/l0"}, "y": kinds},
        "$defs": {**levels, "l14": {"type": "array", "items": {"$ref": "#/$defs/l14"}}},
    }
    parse = checked_parser("t", schema)
    began = time.thread_time()
    text = make_stub(Tool(spec=ToolSpec(name="t", parameters=schema), parse=parse, run=run)).text
    assert "x: list[Any] | None" in text
    assert len(json.dumps(gemini_schema(schema))) < 10 * len(json.dumps(schema))
    assert time.thread_time() - began < 1
