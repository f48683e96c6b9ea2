"""Tools from functions: what the model is told, what the function gets, what comes back."""

import contextlib
import dataclasses
import functools
from collections.abc import Callable, Iterator
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot
from pydantic import BaseModel, Field

from toolwright import Agent, ArgumentError, BlobPart, FunctionTool, ToolContext, UsageError, tool
from toolwright.messages import ToolMessage, ToolProgress, ToolResult
from toolwright.testing import ScriptedModel, call
from toolwright.tools import MaxOutput, ReadonlyContext, to_output


class Address(BaseModel):
    street: str
    number: int = 1


async def run_tool(made: Any, /, deps: Any = None, **arguments: Any) -> ToolResult:
    name = made.name if hasattr(made, "name") else FunctionTool(made).name
    agent = Agent(name="t", model=ScriptedModel(call(name, **arguments), "."), tools=[made])
    result = await agent.run("go", deps=deps)
    message = result.history[2]
    assert isinstance(message, ToolMessage)
    return message.results[0]


@pytest.mark.row("003-N3a", "003-N6b")
def test_the_schema_comes_from_the_signature_and_the_docstring() -> None:
    def book(
        city: str,
        nights: Annotated[int, Field(ge=1, le=30)],
        to: Address,
        unit: Literal["c", "f"] = "c",
        note: str | None = None,
    ) -> str:
        """Book a room.

        This paragraph is for the model too.

        Args:
            city: Where to.
            unit: Which unit
                to show.
        """
        return ""

    spec = FunctionTool(book).spec
    assert spec.description == "Book a room.\n\nThis paragraph is for the model too."
    assert spec.parameters == snapshot(
        {
            "$defs": {
                "Address": {
                    "properties": {
                        "street": {"type": "string"},
                        "number": {"default": 1, "type": "integer"},
                    },
                    "required": ["street"],
                    "type": "object",
                }
            },
            "additionalProperties": False,
            "properties": {
                "city": {"description": "Where to.", "type": "string"},
                "nights": {"maximum": 30, "minimum": 1, "type": "integer"},
                "to": {"$ref": "#/$defs/Address"},
                "unit": {
                    "description": "Which unit to show.",
                    "enum": ["c", "f"],
                    "type": "string",
                    "default": "c",
                },
                "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            },
            "required": ["city", "nights", "to"],
            "type": "object",
        }
    )


def google_style(x: int) -> None:
    """Do it,
    and do it well.

    Only when it was paid for:
        in writing.

    Args:
        x: How often,
            at most.

    Returns:
        dict: what was done.
    """


def numpy_style(x: int) -> None:
    """Do it,
    and do it well.

    Only when it was paid for:
        in writing.

    Parameters
    ----------
    x : int
        How often,
        at most.

    Returns
    -------
    dict
        what was done.
    """


def sphinx_style(x: int) -> None:
    """Do it,
    and do it well.

    Only when it was paid for:
        in writing.

    :param x: How often,
        at most.
    :type x: int
    :returns: what was done.
    """


@pytest.mark.row("001-10", "003-N3b", "004-F4")
@pytest.mark.parametrize("func", [google_style, numpy_style, sphinx_style])
def test_all_of_a_docstring_reaches_the_model_but_for_its_parameters(func: Any) -> None:
    spec = FunctionTool(func).spec
    begin, middle, end = spec.description.split("\n\n", 2)
    assert begin == "Do it, and do it well."
    assert middle == "Only when it was paid for:\n    in writing."
    assert end.lower().lstrip(":").startswith("returns")
    assert end.endswith("what was done.")
    assert spec.parameters["properties"]["x"]["description"] == "How often, at most."


class Counter:
    """Counts up."""

    def __init__(self) -> None:
        self.count = 0

    def up(self, by: int) -> int:
        """Count up."""
        self.count += by
        return self.count

    async def __call__(self, by: int) -> int:
        return self.up(by)


@pytest.mark.row("000-03", "001-01", "001-02", "004-F3")
@pytest.mark.anyio
async def test_bound_methods_callable_objects_and_partials_are_tools() -> None:
    counter = Counter()
    assert (await run_tool(counter.up, by=2)).text == "2"
    assert (await run_tool(FunctionTool(counter), by=2)).text == "4"
    assert FunctionTool(counter).name == "Counter"
    bound = FunctionTool(
        functools.partial(Address, street="Main"), name="address", description="An address."
    )
    assert list(bound.spec.parameters["properties"]) == ["number"]


@pytest.mark.row("000-04", "001-20", "004-F6", "004-E3")
@pytest.mark.anyio
async def test_an_injected_parameter_is_hidden_and_cannot_be_set_by_the_model() -> None:
    seen: list[Any] = []

    def by_name(x: int, tool_context) -> str:  # type: ignore[no-untyped-def]  # noqa: ANN001
        """By name."""
        seen.append(tool_context)
        return ""

    def by_type(x: int, c: ToolContext | None = None) -> str:
        """By type."""
        seen.append(c)
        return ""

    functions: list[Callable[..., str]] = [by_name, by_type]
    for func in functions:
        assert list(FunctionTool(func).spec.parameters["properties"]) == ["x"]
        assert (await run_tool(func, x=1)).status == "ok"
    assert all(isinstance(ctx, ToolContext) for ctx in seen)
    refused = await run_tool(by_type, x=1, c={"user_id": "root"})
    assert "unknown parameter 'c'" in refused.text
    assert len(seen) == 2


@pytest.mark.row("004-F5")
@pytest.mark.anyio
async def test_an_object_sent_as_a_json_string_is_unpacked_and_validated() -> None:
    @tool
    def ship(to: Address, tags: list[str]) -> str:
        """Ship it."""
        return f"{to.street} {to.number} {tags}"

    sent = await run_tool(ship, to='{"street": "Main", "number": "4"}', tags='["a"]')
    assert sent.text == "Main 4 ['a']"
    refused = await run_tool(ship, to='{"number": 4}', tags=[])
    assert "missing required parameter 'to.street'" in refused.text


def test_arguments_that_were_encoded_twice_are_read() -> None:
    @tool
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    assert add.parse('"{\\"a\\": 1, \\"b\\": 2}"') == {"a": 1, "b": 2}


@pytest.mark.parametrize("raw", ["", "{}", '"{}"'])
def test_no_arguments_may_be_written_in_several_ways(raw: str) -> None:
    assert FunctionTool(lambda: "", name="f", description="F.").parse(raw) == {}


@pytest.mark.parametrize(
    ("raw", "reason"), [("null", "NoneType"), ("[1]", "list"), ("{oops", "not JSON")]
)
def test_what_is_no_object_is_refused_with_what_was_found(raw: str, reason: str) -> None:
    with pytest.raises(ArgumentError, match=reason):
        FunctionTool(lambda: "", name="f", description="F.").parse(raw)


@given(st.text())
def test_no_text_makes_the_parser_fail_in_any_other_way(raw: str) -> None:
    with contextlib.suppress(ArgumentError):
        SEVEN.parse(raw)


def seven(a: int, b: str = "", c: dict[str, int] | None = None) -> str:
    """Seven."""
    return ""


SEVEN = FunctionTool(seven)


@dataclasses.dataclass
class Point:
    x: int
    y: float


@pytest.mark.row("003-N4")
@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("plain", "plain"),
        ({"a": 1}, '{"a":1}'),
        (Point(1, 2.5), '{"x":1,"y":2.5}'),
        (Address(street="Main"), '{"street":"Main","number":1}'),
        ([1, "two"], '[1,"two"]'),
        (None, "(no output)"),
        (("shown", {"secret": 1}), "shown"),
        ({"odd": object}, '{"odd":"<class \'object\'>"}'),
    ],
)
def test_outputs_become_what_the_model_can_read(value: Any, text: str) -> None:
    assert to_output(value).text == text


@pytest.mark.row("003-N5a")
@pytest.mark.anyio
async def test_display_goes_to_the_model_and_data_to_the_ui() -> None:
    @tool
    def fetch_user(user_id: str) -> tuple[str, dict[str, str]]:
        """Fetch a user."""
        return "User: Ada", {"name": "Ada", "email": "ada@example.com"}

    answer = await run_tool(fetch_user, user_id="1")
    assert answer.text == "User: Ada"
    assert answer.data == {"name": "Ada", "email": "ada@example.com"}


@pytest.mark.anyio
async def test_images_and_files_reach_the_model_as_parts() -> None:
    @tool
    def draw() -> list[Any]:
        """Draw."""
        return ["Here:", BlobPart(media_type="image/png", data=b"\x89PNG...")]

    answer = await run_tool(draw)
    assert answer.text == "Here:"
    assert isinstance(answer.content[1], BlobPart)
    png = await run_tool(FunctionTool(lambda: b"\x89PNG", name="png", description="Bytes."))
    assert png.content == (BlobPart(media_type="image/png", data=b"\x89PNG"),)


@pytest.mark.row("002-61")
@pytest.mark.anyio
async def test_a_generator_shows_progress_and_its_return_value_is_the_output() -> None:
    @tool
    def count(to: int) -> Iterator[str]:
        """Count."""
        for n in range(to):
            yield f"at {n}"
        return "counted"

    model = ScriptedModel(call("count", to=2), ".")
    events = [e async for e in Agent(name="t", model=model, tools=[count]).stream("go")]
    assert [e.text for e in events if isinstance(e, ToolProgress)] == ["at 0", "at 1"]
    assert model.requests[1].history[-1].results[0].text == "counted"  # type: ignore[union-attr]


@pytest.mark.anyio
async def test_a_timeout_stops_the_call_and_tells_the_model() -> None:
    import anyio

    @tool(timeout=0.01)
    async def slow() -> str:
        """Never ends."""
        await anyio.sleep_forever()
        return ""

    assert (await run_tool(slow)).text == "'slow' did not finish within 0.01 s and was stopped."


@pytest.mark.anyio
async def test_a_tool_that_breaks_is_tried_again_and_a_tool_error_is_not() -> None:
    from toolwright import ToolError
    from toolwright.tools import with_retries

    attempts: list[str] = []

    async def flaky(kind: str) -> str:
        """Fails twice."""
        attempts.append(kind)
        if kind == "told":
            raise ToolError("no such thing")
        if attempts.count(kind) < 3:
            raise ConnectionError("reset")
        return "at last"

    made = with_retries(FunctionTool(flaky), 2, backoff=0)
    assert (await run_tool(made, kind="broken")).text == "at last"
    assert (await run_tool(made, kind="told")).text == "no such thing"
    assert attempts == ["broken", "broken", "broken", "told"]


@pytest.mark.row("003-N7b")
@pytest.mark.anyio
async def test_a_disabled_tool_is_hidden_and_refused_when_called_all_the_same() -> None:
    ran: list[str] = []

    def is_premium(ctx: ReadonlyContext) -> bool:
        return ctx.deps == "premium"

    @tool(is_enabled=is_premium)
    def premium_feature(query: str) -> str:
        """Premium only."""
        ran.append(query)
        return "Premium result"

    model = ScriptedModel(call("premium_feature", query="q"), ".")
    refused = await Agent(name="t", model=model, tools=[premium_feature]).run("go", deps="free")
    assert model.requests[0].tools == ()
    message = refused.history[2]
    assert isinstance(message, ToolMessage)
    assert "not available now" in message.results[0].text
    assert ran == []
    assert (await run_tool(premium_feature, deps="premium", query="q")).text == "Premium result"


@pytest.mark.anyio
async def test_max_output_is_a_setting_of_each_tool() -> None:
    @tool(max_output=MaxOutput(bytes=100, lines=3))
    def lines() -> str:
        """Ten lines."""
        return "\n".join(map(str, range(10)))

    answer = await run_tool(lines)
    assert answer.text.startswith("0\n1\n2\n[Output truncated at 3 lines: 3 of 10 lines.")


@pytest.mark.parametrize(
    ("func", "match"),
    [
        (lambda *args: None, "name each parameter"),
        (lambda **kw: None, "name each parameter"),
        (lambda x, /: None, "positional-only"),
    ],
)
def test_a_signature_that_no_model_could_fill_is_refused_at_definition(
    func: Any, match: str
) -> None:
    with pytest.raises(UsageError, match=match):
        FunctionTool(func, name="f", description="F.")


def test_a_type_that_json_cannot_carry_is_refused_at_definition() -> None:
    def bad(socket: Counter) -> str:
        """Bad."""
        return ""

    with pytest.raises(UsageError, match="cannot come from JSON"):
        FunctionTool(bad)


def test_a_parameter_with_an_alias_is_told_by_the_name_the_model_knows() -> None:
    @tool
    def send(sender: Annotated[str, Field(alias="from")]) -> str:
        """Send it."""
        return sender

    assert send.parse('{"from": "ada"}') == {"sender": "ada"}
    with pytest.raises(ArgumentError, match="this tool takes: from"):
        send.parse('{"sender": "ada"}')


def test_a_default_that_json_cannot_say_is_not_shown() -> None:
    @tool
    def wait(seconds: float = float("inf")) -> str:
        """Wait."""
        return str(seconds)

    assert wait.spec.parameters["properties"] == {"seconds": {"type": "number"}}


def test_a_callable_object_is_described_by_its_call() -> None:
    class Search:
        """Holds an index."""

        def __call__(self, words: str) -> str:
            """Search the index.

            Args:
                words: What to look for.
            """
            return words

    found = FunctionTool(Search())
    assert found.description == "Search the index."
    assert found.spec.parameters["properties"]["words"]["description"] == "What to look for."


def test_a_lambda_is_refused_because_it_has_no_name() -> None:
    with pytest.raises(UsageError, match="lambda has no name"):
        FunctionTool(lambda x: x)


async def _never(ctx: object) -> bool:
    return False


@pytest.mark.parametrize("predicate", [_never, False])
def test_a_predicate_that_would_always_be_true_is_refused(predicate: Any) -> None:
    with pytest.raises(
        UsageError, match=r"must be a plain function of the context|takes a function or None as"
    ):
        tool(is_enabled=predicate)(test_a_lambda_is_refused_because_it_has_no_name)
