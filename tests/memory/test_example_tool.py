"""Few-shot examples reach the model with the prompt."""

import pytest

from toolwright.agent import Agent
from toolwright.builtin import Example, ExampleTool
from toolwright.errors import UsageError
from toolwright.testing import ScriptedModel

pytestmark = pytest.mark.anyio

GREETING = Example("Hi", "Ahoy!")
FAREWELL = Example("Bye", ["Fair winds.", "Come back soon."])


async def _prompt(examples: ExampleTool, message: str = "Bye") -> str:
    model = ScriptedModel("ok")
    agent = Agent(name="pirate", model=model, instructions="Be a pirate.", tools=[examples])
    await agent.run(message)
    return model.requests[0].instructions


async def test_listed_examples_come_after_the_instructions() -> None:
    assert await _prompt(ExampleTool([GREETING, FAREWELL])) == (
        "Be a pirate.\n\n<examples>\nAnswer in the manner of these examples.\n"
        "Example 1\nuser: Hi\nmodel: Ahoy!\n"
        "Example 2\nuser: Bye\nmodel: Fair winds.\nmodel: Come back soon.\n</examples>"
    )


async def test_a_provider_picks_examples_for_the_message() -> None:
    class Provider:
        def get_examples(self, query: str) -> list[Example]:
            return [example for example in (GREETING, FAREWELL) if example.input == query]

    prompt = await _prompt(ExampleTool(Provider()))
    assert "Fair winds." in prompt
    assert "Ahoy!" not in prompt


async def test_an_async_function_can_pick_them_too() -> None:
    async def pick(query: str) -> list[Example]:
        return [Example(query, "Aye.")]

    assert "user: Bye\nmodel: Aye." in await _prompt(ExampleTool(pick))


async def test_without_examples_the_prompt_is_unchanged() -> None:
    assert await _prompt(ExampleTool([])) == "Be a pirate."


def test_what_is_not_an_example_is_refused() -> None:
    with pytest.raises(UsageError, match="list of Example"):
        ExampleTool([("Hi", "Ahoy!")])  # type: ignore[list-item]
    with pytest.raises(UsageError, match=r"takes .* as 'examples'; got None"):
        ExampleTool(None)  # type: ignore[arg-type]
