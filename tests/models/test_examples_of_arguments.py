"""`@tool(examples=[…])`: what a good call looks like, checked when it is said."""

import functools
from datetime import date
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator, BaseModel
from tests.models.requests import ask

from toolwright import FunctionTool, UsageError, deferred_tool, tool
from toolwright.cli._check import check_tools, token_cost
from toolwright.models import AnthropicModel, OpenAIChatModel, OpenAIModel
from toolwright.models._gemini.wire import to_declaration
from toolwright.models._pydantic_ai.wire import to_definition
from toolwright.tools import difference, with_name

OSLO = {"city": "Oslo", "days": 3}
IN_WORDS = 'Look up the weather.\n\nExamples of arguments:\n{"city": "Oslo", "days": 3}'


def known_city(city: str) -> str:
    if city == "Atlantis":
        raise ValueError("no such city")
    return city


def look_up(city: Annotated[str, AfterValidator(known_city)], days: int = 1) -> str:
    """Look up the weather."""
    return f"{city}: {days}"


def weather(*examples: Any) -> FunctionTool:
    return tool(examples=list(examples))(look_up)


@pytest.mark.parametrize(
    ("example", "said"),
    [
        ({"town": "Oslo"}, "town"),
        ({"days": 2}, "city"),
        ({"city": "Oslo", "days": "3"}, "'days'"),
        ({"city": "Atlantis"}, "no such city"),
    ],
)
def test_an_example_that_is_no_good_call_is_refused_where_it_is_written(
    example: Any, said: str
) -> None:
    with pytest.raises(UsageError, match=r"Example 2 of tool 'look_up' does not fit") as error:
        weather(OSLO, example)
    assert said in str(error.value)


@pytest.mark.parametrize("examples", [OSLO, "Oslo", ["Oslo"], 7])
def test_what_is_no_list_of_examples_is_refused(examples: Any) -> None:
    with pytest.raises(UsageError, match="examples"):
        tool(examples=examples)(look_up)


def test_values_of_python_are_shown_as_the_json_that_a_model_would_write() -> None:
    class Guest(BaseModel):
        name: str

    @tool(examples=[{"day": date(2026, 3, 1), "guest": Guest(name="Ada")}])
    def book(day: date, guest: Guest) -> str:
        """Book a room."""
        return ""

    assert book.spec.examples == ({"day": "2026-03-01", "guest": {"name": "Ada"}},)


def test_a_later_change_of_the_list_changes_nothing() -> None:
    example: dict[str, Any] = {"city": "Oslo"}
    made = weather(example)
    example["city"] = 7
    assert made.spec.examples == ({"city": "Oslo"},)


def test_claude_gets_them_as_such() -> None:
    bodies = AnthropicModel("claude-sonnet-4-6", api_key="k" * 12)._bodies
    body = bodies.make(ask(tools=(weather(OSLO).spec,)))
    assert body["tools"][0]["input_examples"] == [OSLO]
    assert body["tools"][0]["description"] == "Look up the weather."
    body = bodies.make(ask(tools=(weather().spec,)))
    assert "input_examples" not in body["tools"][0]


def test_other_models_read_them_at_the_end_of_the_description() -> None:
    request = ask(tools=(weather(OSLO).spec,))
    responses = OpenAIModel("gpt-5", api_key="k" * 12)._body(request)
    chat = OpenAIChatModel("gpt-5", api_key="k" * 12)._body(request)
    assert responses["tools"][0]["description"] == IN_WORDS
    assert chat["tools"][0]["function"]["description"] == IN_WORDS
    assert to_declaration(request.tools[0]).description == IN_WORDS
    assert to_definition(request.tools[0]).description == IN_WORDS


def test_check_counts_them() -> None:
    assert token_cost(weather(OSLO)) > token_cost(weather())
    many = weather(*[{"city": f"City {n:02}", "days": n} for n in range(40)])
    said = [finding.message for finding in check_tools([many])]
    assert any("its description with its examples has" in message for message in said)


def test_they_are_part_of_what_an_approval_is_bound_to() -> None:
    one, other = weather(OSLO), weather({"city": "Bergen"})
    assert len({weather().fingerprint, one.fingerprint, other.fingerprint}) == 3
    assert one.fingerprint == weather(OSLO).fingerprint
    assert difference(one.definition, other.definition) == [
        'examples: [{"city": "Oslo", "days": 3}] is now [{"city": "Bergen"}]'
    ]
    assert "examples" not in weather().definition


def test_they_stay_with_the_tool_under_another_name_and_in_tools_of_tools() -> None:
    made = weather(OSLO)
    assert with_name(made, "forecast").spec.examples == (OSLO,)
    assert tool(name="forecast")(made).spec.examples == (OSLO,)
    assert deferred_tool(examples=[OSLO])(look_up).spec.examples == (OSLO,)


def test_arguments_that_are_filled_in_are_taken_out_of_them() -> None:
    of_three_days = tool(functools.partial(weather(OSLO), days=3))
    assert of_three_days.spec.examples == ({"city": "Oslo"},)


def test_clients_of_an_mcp_server_and_code_that_calls_tools_read_them_too() -> None:
    from toolwright.builtin.codemode._stubs import _docstring
    from toolwright.serve.mcp._listing import listed_tool

    assert listed_tool(weather(OSLO)).description == IN_WORDS
    assert '{"city": "Oslo", "days": 3}' in _docstring(weather(OSLO))
