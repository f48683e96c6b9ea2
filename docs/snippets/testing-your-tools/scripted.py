"""A test without a model: the script says what a model would say, everything else is real."""

from toolwright import Agent, tool
from toolwright.testing import ScriptedModel, call


@tool
def divide(a: float, b: float) -> float:
    """Divide a by b."""
    return a / b


def test_a_division_by_zero_is_told_to_the_model() -> None:
    with ScriptedModel(call("divide", a=1, b=0), "That has no answer.") as model:
        result = Agent(name="maths", model=model, tools=[divide]).run_sync("1 / 0?")

    assert result.text == "That has no answer."
    answers = model.requests[1].history[-1].results  # what the model was sent in its second turn
    assert [answer.status for answer in answers] == ["error"]
