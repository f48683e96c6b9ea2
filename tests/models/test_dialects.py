"""Schema dialects: what they change, and what they must not."""

import copy
from typing import Any, Literal

import jsonschema
from hypothesis import given, settings
from hypothesis import strategies as st
from inline_snapshot import snapshot
from pydantic import BaseModel, Field

from toolwright.models._dialects import all_required, gemini_schema, strict_schema

Schema = dict[str, Any]
NAMES = st.sampled_from(["a", "b", "c"])
NOISE = st.fixed_dictionaries({}, optional={"title": st.just("T"), "default": st.none()})


def leaves() -> st.SearchStrategy[Schema]:
    return st.one_of(
        st.fixed_dictionaries({"type": st.just("string")}, optional={"minLength": st.just(1)}),
        st.fixed_dictionaries(
            {"type": st.just("integer")},
            optional={"minimum": st.just(0), "exclusiveMaximum": st.just(99)},
        ),
        st.just({"type": "boolean"}),
        st.just({"type": "null"}),
        st.just({"type": ["string", "null"], "description": "maybe"}),
        st.just({"enum": ["x", "y"], "type": "string"}),
        st.just({"const": 1}),
        st.just({"$ref": "#/$defs/Thing", "description": "a thing"}),
        st.just({"$ref": "#/$defs/Thing"}),
        st.just({"type": "string", "format": "date"}),
    )


def objects(inner: st.SearchStrategy[Schema]) -> st.SearchStrategy[Schema]:
    @st.composite
    def build(draw: st.DrawFn) -> Schema:
        properties = draw(st.dictionaries(NAMES, inner, max_size=3))
        required = draw(st.sets(st.sampled_from(sorted(properties)))) if properties else set()
        schema: Schema = {"type": "object", "properties": properties, **draw(NOISE)}
        if required:
            schema["required"] = sorted(required)
        if draw(st.booleans()):
            schema["additionalProperties"] = draw(st.booleans())
        return schema

    return build()


def extended(inner: st.SearchStrategy[Schema]) -> st.SearchStrategy[Schema]:
    return st.one_of(
        objects(inner),
        inner.map(lambda items: {"type": "array", "items": items, "maxItems": 2}),
        st.lists(inner, min_size=1, max_size=2).map(lambda some: {"anyOf": some}),
        st.lists(inner, min_size=1, max_size=1).map(lambda some: {"oneOf": some}),
        inner.map(lambda one: {"allOf": [one], "description": "wrapped"}),
    )


THING = {
    "type": "object",
    "properties": {"name": {"type": "string"}},
    "required": ["name"],
    "additionalProperties": False,
}
SCHEMAS = objects(st.recursive(leaves(), extended, max_leaves=8)).map(
    lambda schema: {**schema, "$defs": {"Thing": THING}}
)


def instances(schema: Schema) -> st.SearchStrategy[Any]:
    """Values that fit `schema`; they leave out optional properties now and then."""
    if "$ref" in schema:
        return instances(THING)
    for key in ("anyOf", "oneOf", "allOf"):
        if key in schema:
            return st.one_of([instances(one) for one in schema[key]])
    if "const" in schema:
        return st.just(schema["const"])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    return st.one_of([_of_type(kind, schema) for kind in kinds])


def _of_type(kind: str, schema: Schema) -> st.SearchStrategy[Any]:
    match kind:
        case "string":
            return st.sampled_from(["2026-01-01", "word"])
        case "integer":
            return st.integers(0, 98)
        case "boolean":
            return st.booleans()
        case "null":
            return st.none()
        case "array":
            return st.lists(instances(schema["items"]), max_size=2)
        case _:
            required = set(schema.get("required", ()))
            made = {key: instances(one) for key, one in schema["properties"].items()}
            return st.fixed_dictionaries(
                {key: made[key] for key in made if key in required},
                optional={key: made[key] for key in made if key not in required},
            )


def inside(schema: Any) -> list[Schema]:
    """The schema and all schemas in it."""
    if not isinstance(schema, dict):
        return []
    found = [schema]
    for key in ("properties", "$defs"):
        for child in schema.get(key, {}).values():
            found += inside(child)
    for key in ("anyOf", "prefixItems"):
        for child in schema.get(key, []):
            found += inside(child)
    for key in ("items", "additionalProperties"):
        found += inside(schema.get(key))
    return found


@given(schema=SCHEMAS, data=st.data())
@settings(max_examples=60, deadline=None)
def test_what_fits_the_strict_schema_fits_the_original(schema: Schema, data: st.DataObject) -> None:
    strict = strict_schema(schema)
    if strict is not None:
        jsonschema.validate(data.draw(instances(strict)), schema)


@given(schema=SCHEMAS)
@settings(max_examples=60, deadline=None)
def test_a_strict_schema_is_closed_and_requires_everything(schema: Schema) -> None:
    strict = strict_schema(all_required(schema))
    for part in inside(strict):
        assert not part.keys() & {"title", "default", "minLength", "oneOf", "allOf"}
        assert "$ref" not in part or not part.keys() - {"$ref", "$defs"}
        if part.get("type") == "object":
            assert part["additionalProperties"] is False
            assert part["required"] == list(part["properties"])


@given(schema=SCHEMAS, data=st.data())
@settings(max_examples=60, deadline=None)
def test_what_fits_the_original_fits_the_gemini_schema(schema: Schema, data: st.DataObject) -> None:
    value = data.draw(instances(schema))
    jsonschema.validate(value, schema)
    jsonschema.validate(value, gemini_schema(schema))


@given(schema=SCHEMAS)
@settings(max_examples=60, deadline=None)
def test_a_gemini_schema_has_only_what_gemini_reads_and_stays_as_it_is(schema: Schema) -> None:
    before = copy.deepcopy(schema)
    made = gemini_schema(schema)
    for part in inside(made):
        assert not part.keys() & {"title", "default", "const", "oneOf", "allOf", "minLength"}
        assert not isinstance(part.get("type"), list)
    assert gemini_schema(made) == made
    assert schema == before


@given(schema=SCHEMAS, data=st.data())
@settings(max_examples=60, deadline=None)
def test_requiring_everything_only_narrows(schema: Schema, data: st.DataObject) -> None:
    jsonschema.validate(data.draw(instances(all_required(schema))), schema)


# -- by example -----------------------------------------------------------------------------------


class Leg(BaseModel):
    city: str = Field(description="Where to.", min_length=2)
    by: Literal["train", "boat"]


class Trip(BaseModel):
    legs: list[Leg] = Field(max_length=3)
    note: str | None = None


def test_a_model_with_an_optional_field_is_strict_only_as_an_output() -> None:
    schema = Trip.model_json_schema()
    assert strict_schema(schema) is None
    assert strict_schema(all_required(schema)) == snapshot(
        {
            "$defs": {
                "Leg": {
                    "properties": {
                        "city": {"description": "Where to. (minLength: 2)", "type": "string"},
                        "by": {"enum": ["train", "boat"], "type": "string"},
                    },
                    "required": ["city", "by"],
                    "type": "object",
                    "additionalProperties": False,
                }
            },
            "properties": {
                "legs": {"items": {"$ref": "#/$defs/Leg"}, "maxItems": 3, "type": "array"},
                "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            },
            "required": ["legs", "note"],
            "type": "object",
            "additionalProperties": False,
        }
    )


def test_what_gemini_lacks_is_said_in_the_description() -> None:
    assert gemini_schema(Trip.model_json_schema()) == snapshot(
        {
            "$defs": {
                "Leg": {
                    "properties": {
                        "city": {"description": "Where to. (minLength: 2)", "type": "string"},
                        "by": {"enum": ["train", "boat"], "type": "string"},
                    },
                    "required": ["city", "by"],
                    "type": "object",
                }
            },
            "properties": {
                "legs": {"items": {"$ref": "#/$defs/Leg"}, "maxItems": 3, "type": "array"},
                "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            },
            "required": ["legs"],
            "type": "object",
        }
    )


def test_open_objects_and_tuples_are_not_strict() -> None:
    opened = {"type": "object", "additionalProperties": {"type": "integer"}}
    anything = {"type": "object", "properties": {"x": {}}, "required": ["x"]}
    pair = {"type": "array", "prefixItems": [{"type": "integer"}]}
    tupled = {"type": "object", "properties": {"x": pair}, "required": ["x"]}
    free = {"type": "object"}
    assert [strict_schema(s) for s in (opened, anything, tupled, free)] == [None] * 4


def test_all_of_is_merged_where_its_members_agree() -> None:
    base = {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}
    more = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    merged = {
        "type": "object",
        "properties": {"id": {"type": "integer"}, "name": {"type": "string"}},
        "required": ["id", "name"],
    }
    assert gemini_schema({"allOf": [base, more]}) == merged
    assert strict_schema({"allOf": [base, more]}) == {**merged, "additionalProperties": False}


def test_all_of_that_disagrees_is_only_told() -> None:
    odd = {"allOf": [{"type": "string"}, {"type": "integer"}]}
    schema = {"type": "object", "properties": {"x": odd}, "required": ["x"]}
    assert strict_schema(schema) is None
    assert "allOf" in gemini_schema(schema)["properties"]["x"]["description"]


def test_a_tool_without_parameters_is_strict() -> None:
    bare = {"type": "object", "properties": {}}
    assert strict_schema(bare) == {**bare, "required": [], "additionalProperties": False}
