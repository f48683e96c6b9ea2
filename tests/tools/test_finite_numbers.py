"""Numbers that JSON does not have: no tool gets one that has not said that it wants it."""

import math
from dataclasses import dataclass, replace
from typing import Annotated, Any

import pytest
from pydantic import Field
from typing_extensions import TypedDict

from toolwright import Agent, Runner, tool
from toolwright.backends.executors import Limits, LocalExecutor
from toolwright.builtin.shell import bash_tool
from toolwright.errors import ArgumentError, UsageError
from toolwright.messages import ToolEnded
from toolwright.testing import ScriptedModel, call
from toolwright.tools import schema_parser

WRITTEN = ["NaN", "Infinity", "-Infinity", "1e999", '"NaN"', '"-inf"']


class Box(TypedDict):
    side: float


@dataclass
class Ball:
    size: float


@tool
def measure(
    one: float = 0,
    many: list[float] | None = None,
    box: Box | None = None,
    ball: Ball | None = None,
    named: dict[str, float] | None = None,
) -> str:
    """Measure."""
    return "measured"


@pytest.mark.parametrize("written", WRITTEN)
@pytest.mark.parametrize(
    "around",
    [
        '{"one": HERE}',
        '{"many": [1, HERE]}',
        '{"box": {"side": HERE}}',
        '{"ball": {"size": HERE}}',
        '{"named": {"a": HERE}}',
    ],
)
def test_a_number_that_json_does_not_have_is_refused(around: str, written: str) -> None:
    assert measure.parse(around.replace("HERE", "1.5"))
    with pytest.raises(ArgumentError, match=r"finite number|no number of JSON"):
        measure.parse(around.replace("HERE", written))


@pytest.mark.parametrize("written", WRITTEN)
def test_so_it_is_for_tools_from_elsewhere(written: str) -> None:
    schema = {"type": "object", "properties": {"one": {"type": "number"}}}
    parse = schema_parser("measure", schema)
    assert parse('{"one": "1.5e3"}') == {"one": 1500.0}
    said = "not of type" if written.startswith('"') else "no number of JSON"
    with pytest.raises(ArgumentError, match=said):
        parse(f'{{"one": {written}}}')
    with pytest.raises(ArgumentError, match="not of type"):  # Nor as text, which is mended.
        parse('{"one": "1e999"}')


def test_a_function_can_say_that_it_takes_them() -> None:
    @tool
    def wait(seconds: Annotated[float, Field(allow_inf_nan=True)]) -> str:
        """Wait."""
        return "waited"

    assert wait.parse('{"seconds": "Infinity"}') == {"seconds": math.inf}


@pytest.mark.anyio
async def test_a_command_without_a_possible_end_is_refused_in_words(tmp_path: Any) -> None:
    bash = bash_tool(LocalExecutor(tmp_path))
    asked = [
        replace(call("bash"), arguments=f'{{"command": "touch ran", "timeout": {written}}}')
        for written in ("NaN", "1e999")
    ]
    model = ScriptedModel(asked, "done")
    async with Runner(Agent(name="a", model=model, tools=[bash])) as runner:
        result = await runner.run("go")
    told = [event.result for event in result.events if isinstance(event, ToolEnded)]
    assert [one.status for one in told] == ["error", "error"]
    assert all("'timeout'" in one.text or "number of JSON" in one.text for one in told)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("name", ["timeout", "grace"])
@pytest.mark.parametrize("value", [math.nan, math.inf, -1])
def test_a_limit_is_a_number_or_none(name: str, value: float) -> None:
    given: dict[str, Any] = {name: value}
    with pytest.raises(UsageError, match=f"The limit {name}={value!r}"):
        Limits(**given)
