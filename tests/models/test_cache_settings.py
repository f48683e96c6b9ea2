"""How long a prompt cache lasts, and the key that OpenAI finds it by."""

from typing import Any

import pytest
from tests.models.providers import PROVIDERS
from tests.models.wire import Wire

from toolwright import Agent, Runner
from toolwright.messages import History, user_message
from toolwright.models import (
    ModelRequest,
    ModelSettings,
    OpenAIChatModel,
    OpenAIModel,
)
from toolwright.testing import ScriptedModel

pytestmark = pytest.mark.anyio
LONG = ModelSettings(cache_prompt="long")


async def sent(wire: Wire, kind: str, settings: ModelSettings) -> dict[str, Any]:
    provider = PROVIDERS[kind](wire)
    provider.will("Hello.")
    agent = Agent(name="a", model=provider.model, instructions="Be kind.", settings=settings)
    await agent.run("Hi")
    return wire.bodies[-1]


async def test_every_mark_of_claude_lasts_an_hour_if_asked(wire: Wire) -> None:
    hour = {"type": "ephemeral", "ttl": "1h"}
    body = await sent(wire, "anthropic", LONG)
    assert (body["cache_control"], body["system"][0]["cache_control"]) == (hour, hour)
    body = await sent(wire, "anthropic", ModelSettings())
    assert body["cache_control"] == {"type": "ephemeral"}


@pytest.mark.parametrize("kind", ["responses", "chat"])
async def test_openai_keeps_it_for_a_day_if_asked(wire: Wire, kind: str) -> None:
    assert (await sent(wire, kind, LONG))["prompt_cache_retention"] == "24h"
    assert "prompt_cache_retention" not in await sent(wire, kind, ModelSettings())


@pytest.mark.parametrize("kind", ["responses", "chat"])
async def test_a_key_of_ones_own_goes_to_every_server_and_no_other_does(
    wire: Wire, kind: str
) -> None:
    assert (await sent(wire, kind, ModelSettings(cache_key="x")))["prompt_cache_key"] == "x"
    assert "prompt_cache_key" not in await sent(wire, kind, ModelSettings())


@pytest.mark.parametrize("kind", [OpenAIModel, OpenAIChatModel])
def test_openai_itself_gets_one_for_each_conversation(kind: Any) -> None:
    model = kind("gpt-5", api_key="k" * 12, base_url="https://api.openai.com/v1")

    def key(**more: Any) -> Any:
        history = History([user_message("Hi")]).view()
        request = ModelRequest(history=history, conversation="c1", **more)
        return model._body(request).get("prompt_cache_key")

    assert key() == "c1"
    assert key(settings=ModelSettings(cache_key="own")) == "own"
    assert key(settings=ModelSettings(cache_prompt=False)) is None


async def test_a_conversation_is_the_same_in_another_process_and_tells_nothing(
    tmp_path: Any,
) -> None:
    model = ScriptedModel("One.", "Two.", "Three.")
    for session in ("ada's", "ada's", "other"):
        async with Runner(
            Agent(name="a", model=model), store=f"sqlite:///{tmp_path}/s.db"
        ) as runner:
            await runner.run("Hi", session_id=session, user_id="ada")
    one, again, other = (request.conversation for request in model.requests)
    assert one == again != other
    assert len(one) == 32
    assert "ada" not in one
