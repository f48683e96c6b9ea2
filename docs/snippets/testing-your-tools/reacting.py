"""A turn can be a function of the request, or an error."""

import pytest

from toolwright import Agent, ModelError
from toolwright.models import ModelRequest
from toolwright.testing import ScriptedModel, call


def stock(sku: str) -> int:
    """How many are left."""
    return 7


def say_the_number(request: ModelRequest) -> str:
    return f"There are {request.history[-1].results[0].text} left."


def test_the_answer_repeats_what_the_tool_said() -> None:
    agent = Agent(
        name="shop", model=ScriptedModel(call("stock", sku="x"), say_the_number), tools=[stock]
    )
    assert agent.run_sync("How many?").text == "There are 7 left."


def test_a_model_that_is_down_ends_the_run() -> None:
    model = ScriptedModel(ModelError("no route to host", reason="connection"))
    with pytest.raises(ModelError, match="no route"):
        Agent(name="shop", model=model).run_sync("Hello?")
