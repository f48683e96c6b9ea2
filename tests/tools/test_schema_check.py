"""Schemas from anywhere: whatever they say, to judge a value takes little time and memory."""

import contextlib
import json
import subprocess
import threading
import time
from typing import Any

import anyio
import anyio.to_thread
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.sources.hostile_schemas import HOSTILE_SCHEMAS, doubling

from toolwright import Agent, ToolContext
from toolwright._own_program import own_program
from toolwright.errors import ArgumentError, UsageError
from toolwright.messages import ToolSpec
from toolwright.testing import ScriptedModel, call
from toolwright.tools import Output, SchemaCheck, Tool, TooMuchWork, _schema_check, schema_parser
from toolwright.tools._schema_check import SHORT

Schema = dict[str, Any]
_REFERENCES = st.sampled_from([f"#/$defs/d{number}" for number in range(4)])
_LEAVES: st.SearchStrategy[Any] = st.one_of(
    st.sampled_from([{}, {"type": "string"}, {"type": "integer"}, {"pattern": "^(a+)+$"}, True]),
    st.sampled_from([{"pattern": "(?=(a+))\\1b"}, {"uniqueItems": True}, {"const": 1}]),
    _REFERENCES.map(lambda reference: {"$ref": reference}),
)


def _nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    several = st.lists(inner, min_size=1, max_size=3)
    by_name = st.dictionaries(st.sampled_from(["a", "b", "$ref"]), inner, max_size=3)
    return st.one_of(
        st.sampled_from(["anyOf", "oneOf", "allOf", "prefixItems"]).flatmap(
            lambda key: several.map(lambda subs: {key: subs})
        ),
        st.sampled_from(
            ["not", "if", "items", "contains", "additionalProperties", "unevaluatedProperties"]
        ).flatmap(lambda key: inner.map(lambda sub: {key: sub})),
        by_name.map(lambda subs: {"properties": subs}),
        by_name.map(lambda subs: {"dependentSchemas": subs}),
    )


_SCHEMAS = st.recursive(_LEAVES, _nested, max_leaves=12)
_VALUES = st.recursive(
    st.one_of(st.none(), st.integers(), st.sampled_from(["a" * 50, "ab", "a" * 3000 + "c"])),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.sampled_from(["a", "b", "$ref"]), inner, max_size=3),
    ),
    max_leaves=20,
)


@settings(max_examples=200, deadline=None)
@given(st.lists(_SCHEMAS, min_size=4, max_size=4), _SCHEMAS, _VALUES)
def test_any_schema_is_refused_or_judges_any_value_in_time(
    parts: list[Any], schema: Any, value: Any
) -> None:
    whole = {"$defs": {f"d{n}": part for n, part in enumerate(parts)}, "allOf": [schema]}
    began = time.thread_time()
    with contextlib.suppress(UsageError, TooMuchWork):
        SchemaCheck(whole).errors(value, len(json.dumps(value)))
    assert time.thread_time() - began < 2


@pytest.mark.parametrize("name", HOSTILE_SCHEMAS)
def test_a_hostile_schema_is_refused_with_the_reason_at_once(name: str) -> None:
    schema, said = HOSTILE_SCHEMAS[name]
    began = time.thread_time()
    with pytest.raises(UsageError, match=".*".join(said.split("$"))):
        SchemaCheck(schema)
    assert time.thread_time() - began < 1


def _tree(kinds: int) -> Schema:
    sides = {"left": {"$ref": "#/$defs/node"}, "right": {"$ref": "#/$defs/node"}}
    nodes = [
        {"type": "object", "properties": {"kind": {"const": k}, **sides}} for k in range(kinds)
    ]
    node = {"anyOf": [*nodes, {"type": "string"}]}
    return {
        "type": "object",
        "properties": {"tree": {"$ref": "#/$defs/node"}},
        "$defs": {"node": node},
    }


def test_a_tree_of_alternatives_is_judged_while_it_is_small_and_refused_when_it_is_not() -> None:
    parse = schema_parser("plant", _tree(3))
    tree: Any = "leaf"
    for _ in range(6):
        tree = {"kind": 2, "left": tree, "right": "leaf"}
    assert parse(json.dumps({"tree": tree}))["tree"] == tree
    for _ in range(20):
        tree = {"kind": 2, "left": tree, "right": "leaf"}
    began = time.thread_time()
    with pytest.raises(ArgumentError, match=r"cannot be checked.*this tool takes: tree"):
        parse(json.dumps({"tree": tree}))
    assert time.thread_time() - began < 1


def test_many_rows_are_judged_quickly_and_those_that_are_wrong_are_told() -> None:
    row = {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}
    parse = schema_parser("add", {"type": "object", "properties": {"rows": {"items": row}}})
    rows: list[Any] = [{"id": number} for number in range(20_000)]
    began = time.thread_time()
    assert len(parse(json.dumps({"rows": rows}))["rows"]) == 20_000
    assert time.thread_time() - began < 2
    with pytest.raises(ArgumentError) as failed:
        parse(json.dumps({"rows": rows + [{}] * 30}))
    assert len(failed.value.issues) == 21
    assert failed.value.issues[0] == "missing required parameter 'rows.20000.id'"
    assert failed.value.issues[-1] == "and 10 more"


def test_alternatives_that_are_too_many_to_be_told_are_not_made() -> None:
    parse = schema_parser("t", doubling(14))
    assert parse('{"x": "fits"}') == {"x": "fits"}
    began = time.thread_time()
    with pytest.raises(ArgumentError, match="too many to be told; this tool takes: x"):
        parse('{"x": 1}')
    assert time.thread_time() - began < 0.3


@pytest.mark.parametrize(
    ("items", "value"),
    [
        ({"enum": list(range(19_000))}, [19_001] * 190_000),
        ({"enum": [[number] for number in range(1_900)]}, [[1_901]] * 19_000),
        ({"dependentRequired": {f"n{n}": ["x"] for n in range(900)}}, [{"n1": 1}] * 60_000),
        ({"patternProperties": {f"n{n}": True for n in range(900)}}, [{"a": 1}] * 50_000),
    ],
    ids=["enum", "enum of arrays", "dependentRequired", "patternProperties"],
)
def test_long_lists_in_a_schema_are_a_part_of_the_work(
    items: Schema, value: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_schema_check, "_SECONDS", 0.3)
    check = SchemaCheck({"properties": {"x": {"items": items}}})
    began = time.thread_time()
    with contextlib.suppress(TooMuchWork):
        check.errors({"x": value}, len(json.dumps({"x": value})))
    assert time.thread_time() - began < 5


_LONG_NUMBERS = [10**299 + number for number in range(2_000)]


@pytest.mark.parametrize(
    ("items", "value"),
    [
        ({"enum": [[*range(100), n] for n in range(190)]}, [[*range(100), -1]] * 1_000),
        ({"const": list(range(5_000))}, [[*range(4_999), -1]] * 200),
        ({"allOf": [{"multipleOf": n} for n in (2, 3, 5, 7, 11)]}, _LONG_NUMBERS),
        ({"multipleOf": 7e-300}, [1e300] * 1_000),
        ({"multipleOf": 7e-300}, [1] * 1_000),
        ({"multipleOf": 3.5}, [1e-300] * 1_000),
    ],
    ids=["enum of arrays", "const", "multipleOf", "small of large", "small", "of small"],
)
def test_what_is_compared_and_divided_is_counted_by_its_length(items: Schema, value: Any) -> None:
    check = SchemaCheck({"properties": {"x": {"items": items}}})
    began = time.thread_time()
    with pytest.raises(TooMuchWork, match="too many times"):
        check.errors({"x": value}, len(json.dumps({"x": value})))
    assert time.thread_time() - began < 0.3
    # Not every version of the validator takes numbers beyond 64 bits.
    few = [13] if value is _LONG_NUMBERS else value[:1]
    # Few are judged; of fractions, not every version says the same.
    assert check.errors({"x": few}, 1_000) or any(isinstance(v, float) for v in items.values())


_STATES = "^(?:[ab]{0,5000}c?[ab]{0,5000})*$"


def test_a_long_text_is_held_to_an_expression_in_a_process_that_is_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nothing else runs while the validator does, so that in this process no timeout would help."""
    monkeypatch.setattr(_schema_check, "_SECONDS", 0.3)
    check = SchemaCheck({"properties": {"x": {"pattern": _STATES}}})
    assert check.errors({"x": "ab" * 20}, 50) == []
    began = time.thread_time()
    with pytest.raises(TooMuchWork, match=r"could not be judged within 0\.3 s"):
        check.errors({"x": "ab" * 10_000}, 20_010)
    assert time.thread_time() - began < 0.1


def test_a_short_text_is_held_to_any_expression_at_once() -> None:
    check = SchemaCheck({"properties": {"x": {"pattern": _STATES}}})
    began = time.thread_time()
    assert check.errors({"x": "ab" * (SHORT // 2 - 10)}, SHORT) == []
    assert time.thread_time() - began < 0.25


@pytest.mark.parametrize(
    "pattern",
    ["^.+$", "^[a-z0-9]{1,255}$", ".{1,1000}", r"^(?=.*[A-Z])\w{8,64}$", r"\p{L}{1,100}"],
)
def test_patterns_of_ordinary_documents_are_taken_and_judge_long_texts(pattern: str) -> None:
    check = SchemaCheck({"properties": {"x": {"pattern": pattern}}})
    assert check.errors({"x": "\n"}, 10)
    long = {"x": "\n" * 3_000}
    assert check.errors(long, 6_010)


def test_a_process_tells_the_same_as_is_told_here(monkeypatch: pytest.MonkeyPatch) -> None:
    schema = {
        "properties": {
            "n": {"type": ["integer", "null"]},
            "t": {"pattern": "^[a-z]+$"},
            "rows": {"items": {"required": ["id"]}},
        }
    }
    value = {"n": "7", "t": "X" * 2_000, "rows": [{}, {"id": 1}]}
    check, size = SchemaCheck(schema), len(json.dumps(value))
    here = check.errors(value, size)
    monkeypatch.setattr(_schema_check, "_SIZES", dict.fromkeys(_schema_check._SIZES, 10**6))
    _schema_check._work_of.cache_clear()
    there = SchemaCheck(schema).errors(value, size)
    _schema_check._work_of.cache_clear()
    assert all(isinstance(fault, _schema_check.Fault) for fault in there)
    fields = [(one.message, one.instance_path, one.schema_path) for one in here]
    assert [(one.message, one.instance_path, one.schema_path) for one in there] == fields
    with pytest.raises(ArgumentError, match=r"missing required parameter 'rows\.0\.id'"):
        schema_parser("t", schema)(json.dumps(value))


def test_thousands_of_ordinary_fractions_are_judged() -> None:
    # Quarters: of hundredths, not every version of the validator knows.
    check = SchemaCheck({"items": {"multipleOf": 0.25}})
    prices = [number / 4 for number in range(20_000)]
    assert check.errors(prices, len(json.dumps(prices))) == []


@pytest.mark.parametrize("held", ["arguments", "results"])
@pytest.mark.anyio
async def test_a_process_that_judges_for_nobody_is_ended_at_once(
    held: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if held == "results":
        pytest.importorskip("mcp_types", reason="mcp comes with an extra")
    monkeypatch.setattr(_schema_check, "_SECONDS", 60.0)
    begun, started = threading.Event(), list[subprocess.Popen[bytes]]()

    class Noted(subprocess.Popen[bytes]):
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            started.append(self)
            begun.set()

    monkeypatch.setattr(subprocess, "Popen", Noted)
    schema = {"type": "object", "properties": {"x": {"pattern": _STATES}}}
    value = {"x": "ab" * 50_000}
    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(
                _hold_arguments if held == "arguments" else _hold_results, schema, value
            )
            await anyio.to_thread.run_sync(begun.wait, abandon_on_cancel=True)
            group.cancel_scope.cancel()
        await anyio.to_thread.run_sync(started[0].wait, abandon_on_cancel=True)
    assert started[0].returncode < 0


async def _hold_arguments(schema: Schema, value: Any) -> None:
    async def run(args: dict[str, Any], ctx: ToolContext) -> Output:
        return Output(text="ran")

    spec = ToolSpec(name="t", parameters=schema)
    tool = Tool(spec=spec, parse=schema_parser("t", schema), run=run, source="mcp:x")
    await Agent(name="a", model=ScriptedModel(call("t", **value), "."), tools=[tool]).run("go")


async def _hold_results(schema: Schema, value: Any) -> None:
    from mcp_types import CallToolResult
    from mcp_types import Tool as Listed

    from toolwright.sources.mcp._returns import Returns

    returns = Returns()
    returns.tools["t"] = Listed(name="t", input_schema={"type": "object"}, output_schema=schema)
    result = CallToolResult(content=[], structured_content=value)
    await returns.validate_tool_result("t", result)


def test_a_judge_is_handed_over_as_text_to_the_interpreter_behind_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A command in a sandbox may be able to change files of the environment that we run in."""
    asked: list[list[str]] = []

    def answer(command: list[str], sent: bytes) -> bytes:
        asked.append(command)
        return b"[]"

    monkeypatch.setattr(_schema_check, "_answer", answer)
    check = SchemaCheck({"properties": {"x": {"pattern": _STATES}}})
    assert check.errors({"x": "ab" * 10_000}, 20_010) == []
    assert asked[0][:4] == own_program("")[:4]
    assert "Hold one value to a schema" in asked[0][4]


def test_slips_are_mended_that_a_process_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    judged: list[int] = []
    elsewhere = SchemaCheck._judged_elsewhere

    def noted(self: SchemaCheck, value: Any) -> list[Any]:
        judged.append(1)
        return elsewhere(self, value)

    monkeypatch.setattr(SchemaCheck, "_judged_elsewhere", noted)
    schema = {"type": "object", "properties": {"n": {"type": "integer"}, "t": {"pattern": "^.+$"}}}
    args = {"n": "7", "t": "x" * 40_000}
    assert schema_parser("t", schema)(json.dumps(args))["n"] == 7
    assert len(judged) == 2


def test_what_is_said_of_a_long_value_is_short() -> None:
    parse = schema_parser("t", {"type": "object", "properties": {"x": {"maxLength": 3}}})
    with pytest.raises(ArgumentError) as failed:
        parse(json.dumps({"x": "y" * 100_000}))
    assert len(str(failed.value)) < 700


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"properties": {"$ref": {"type": "string"}}}, {"$ref": "x"}, {"$ref": 1}),
        ({"properties": {"x": {"enum": [{"$ref": "http://127.0.0.1:9/"}]}}}, {}, {"x": 1}),
        ({"properties": {"x": {"$ref": "#"}}}, {"x": {"x": {}}}, {"x": {"x": 1}}),
        ({"properties": {"x": {"$ref": "#/properties/a~1b%20c"}, "a/b c": {"type": "null"}}}, {"x": None}, {"x": 1}),
        ({"properties": {"x": {"prefixItems": ({"type": "null"},)}}}, {"x": [None]}, {"x": [1]}),
        ({"properties": {"x": {"pattern": "^(?!admin)"}}}, {"x": "ada"}, {"x": "admin"}),
        ({"$id": "https://schemas.example/x", "required": ["x"]}, {"x": 1}, {}),
    ],
)  # fmt: skip
def test_what_schemas_have_in_practice_works(schema: Schema, good: Any, bad: Any) -> None:
    check = SchemaCheck({"type": "object", **schema})
    assert check.errors(good, len(json.dumps(good))) == []
    assert check.errors(bad, len(json.dumps(bad)))


@pytest.mark.parametrize(
    ("source", "letters", "beside"),
    [("", 100, False), ("mcp:x", 100, True), ("mcp:x", 100_000, True)],
)
@pytest.mark.anyio
async def test_arguments_of_tools_from_outside_are_read_beside_the_loop(
    source: str, letters: int, beside: bool
) -> None:
    read_in: list[int] = []

    def parse(raw: str) -> dict[str, Any]:
        read_in.append(threading.get_ident())
        return dict(json.loads(raw))

    async def run(args: dict[str, Any], ctx: ToolContext) -> Output:
        return Output(text=str(len(args["x"])))

    spec = ToolSpec(name="t", parameters={"type": "object", "properties": {"x": {}}})
    outside = Tool(spec=spec, parse=parse, run=run, source=source)
    agent = Agent(name="a", model=ScriptedModel(call("t", x="y" * letters), "."), tools=[outside])
    result = await agent.run("go")
    assert str(letters) in str(result.events)
    assert (read_in[0] != threading.get_ident()) is beside


def test_a_judge_ends_by_itself_when_whoever_started_it_is_gone() -> None:
    resource = pytest.importorskip("resource")
    answer = (
        "    import resource; sys.stdout.write(str(resource.getrlimit(resource.RLIMIT_CPU)[1]))"
    )
    source = _schema_check._JUDGE.partition("    sys.stdout.write(")[0] + answer
    done = subprocess.run(own_program(source, "", "7"), capture_output=True, check=True)
    assert done.stdout == b"7"
    assert resource.getrlimit(resource.RLIMIT_CPU)[1] != 7


_LOOKING = "^(?:(?:(?=)|(?=)){12}c|)"


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"items": {"allOf": [{"pattern": _LOOKING}] * 400}}, [""] * 200),
        ({"items": {"$ref": "#/$defs/p"}, "$defs": {"p": {"pattern": _LOOKING}}}, [""] * 250),
        ({"patternProperties": {_LOOKING + str(n): {} for n in range(100)}}, {"a": 1, "b": 2}),
        ({"propertyNames": {"pattern": _LOOKING}}, {str(n): 1 for n in range(101)}),
    ],
    ids=["items", "reference", "names of a group", "names"],
)
def test_many_short_texts_are_held_to_expressions_that_look_around_in_a_process(
    schema: Schema, value: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[bytes] = []
    monkeypatch.setattr(_schema_check, "_answer", lambda _, asked: sent.append(asked) or b"[]")
    check, size = SchemaCheck(schema), len(json.dumps(value))
    assert size < 1_100
    began = time.thread_time()
    assert check.errors(value, size) == []
    assert time.thread_time() - began < 0.5
    assert len(sent) == 1
    check.errors(value, size)  # As arguments are read again when a person has approved them.
    assert len(sent) == 1


def test_a_few_short_texts_are_held_to_them_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(_schema_check, "_answer")
    check = SchemaCheck({"items": {"pattern": r"^(?=.*\d)\w{8,64}$"}})
    assert check.errors(["passw0rd" for _ in range(50)], 600) == []
    assert check.errors(["a" * 400], 410)


def test_verdicts_of_processes_are_remembered_for_the_last_values_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sent: list[bytes] = []
    monkeypatch.setattr(_schema_check, "_answer", lambda _, asked: sent.append(asked) or b"[]")
    check = SchemaCheck({"properties": {"x": {"items": {"pattern": _LOOKING}}}})
    for number in [*range(40), 0]:
        check.errors({"x": [""] * 100 + [str(number)]}, 500)
    assert len(sent) == 41
