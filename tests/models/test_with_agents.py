"""Agents on real SDKs: a whole run, stored and picked up again, on each provider."""

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import openai
import pytest
from tests.models import test_anthropic, test_gemini, test_openai, test_openai_chat
from tests.models.requests import ask, history
from tests.models.wire import Wire

from toolwright import Agent, Runner, tool
from toolwright.messages import History, Message, decode_message, encode_message, user_message
from toolwright.models import Model, ModelRequest, OpenAIModel

pytestmark = pytest.mark.anyio


@tool
def get_weather(city: str) -> str:
    """The weather in a city."""
    return f"Rain in {city}"


@dataclass(frozen=True)
class Provider:
    """A provider as these tests need it."""

    model: Callable[[Wire], Model]
    calls: Any
    """A reply that reasons and calls `get_weather`."""
    says: Callable[[str], Any]
    secret: str
    """The signature that must come back with the next request."""


PROVIDERS = {
    "openai": Provider(
        model=test_openai.model,
        calls=test_openai.response(test_openai.REASONED, test_openai.CALLED),
        says=lambda text: test_openai.response(test_openai.said(text)),
        secret="c2VjcmV0",
    ),
    "chat": Provider(
        model=test_openai_chat.model,
        calls=test_openai_chat.completion(
            tool_calls=[test_openai_chat.tool_call("c1", "Oslo")], reasoning_content="c2VjcmV0"
        ),
        says=lambda text: test_openai_chat.completion(content=text),
        secret="c2VjcmV0",
    ),
    "anthropic": Provider(
        model=test_anthropic.model,
        calls=test_anthropic.message(
            test_anthropic.THOUGHT, test_anthropic.CALLED, stop_reason="tool_use"
        ),
        says=lambda text: test_anthropic.message(test_anthropic.said(text)),
        secret="c2ln",
    ),
    "gemini": Provider(
        model=test_gemini.model,
        calls=test_gemini.response(
            {**test_gemini.function_call("Oslo"), "thoughtSignature": "c2VjcmV0"}
        ),
        says=lambda text: test_gemini.response({"text": text}),
        secret="c2VjcmV0",
    ),
}


@pytest.fixture(params=PROVIDERS)
def provider(request: pytest.FixtureRequest) -> Provider:
    return PROVIDERS[request.param]


async def test_an_agent_calls_its_tool_and_answers(wire: Wire, provider: Provider) -> None:
    wire.will(provider.calls, provider.says("Take an umbrella."))
    agent = Agent(name="weather", model=provider.model(wire), tools=[get_weather])

    result = await agent.run("Umbrella in Oslo?")

    assert result.text == "Take an umbrella."
    assert result.usage.requests == 2
    assert "Rain in Oslo" in str(wire.bodies[1])
    assert provider.secret in str(wire.bodies[1])


async def test_a_stored_session_sends_the_reasoning_back(
    wire: Wire, provider: Provider, tmp_path: Path
) -> None:
    wire.will(provider.calls, provider.says("Rain."), provider.says("You are welcome."))
    agent = Agent(name="weather", model=provider.model(wire), tools=[get_weather])
    store = f"sqlite:///{tmp_path}/sessions.db"

    first = Runner(agent, app_name="weather", store=store)
    await first.run("Oslo?", user_id="ada", session_id="s1")
    await first.close()
    second = Runner(agent, app_name="weather", store=store)
    await second.run("Thanks", user_id="ada", session_id="s1")
    await second.close()

    assert provider.secret in str(wire.bodies[2])


async def test_a_stored_message_is_sent_just_like_a_fresh_one(
    wire: Wire, provider: Provider
) -> None:
    wire.will(provider.calls, *[provider.says("Bye.")] * 2)
    model = provider.model(wire)
    reply = await model.respond(ask("Umbrella?"))

    for turn in (reply, decode_message(encode_message(reply))):
        await model.respond(history(user_message("Umbrella?"), turn, user_message("Well?")))

    assert wire.bodies[1] == wire.bodies[2]


async def test_text_that_is_no_valid_unicode_does_not_end_a_run(
    wire: Wire, provider: Provider
) -> None:
    @tool
    def get_weather(city: str) -> str:
        """The weather in a city."""
        return f"caf\udce9 in {city}"

    wire.will(provider.calls, provider.says("Fine."))
    agent = Agent(
        name="weather",
        model=provider.model(wire),
        instructions="Half an emoji: \ud83d",
        tools=[get_weather],
    )

    result = await agent.run("Oslo?")

    assert result.text == "Fine."
    assert "in Oslo" in str(wire.bodies[1])


async def test_a_message_is_converted_once_however_often_it_is_sent(
    wire: Wire, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    converted: list[Message] = []
    convert_all = History.converted

    def counting(self: History, convert: Callable[[Message], Any], upto: int) -> list[Any]:
        def counted(message: Message) -> Any:
            converted.append(message)
            return convert(message)

        known = self._converted.setdefault(convert, [])
        known += [counted(message) for message in self._messages[len(known) : upto]]
        return convert_all(self, convert, upto)

    monkeypatch.setattr(History, "converted", counting)
    talk = History()
    model = provider.model(wire)
    for number in range(5):
        wire.will(provider.says("Go on."))
        talk.append(user_message(str(number)))
        talk.append(await model.respond(ModelRequest(history=talk.view())))

    assert len(converted) == 9


async def test_a_closed_model_can_be_asked_again(wire: Wire, provider: Provider) -> None:
    wire.will(*[provider.says("Hi.")] * 2)
    model: Any = provider.model(wire)

    await model.respond(ask())
    await model.close()

    assert (await model.respond(ask())).text == "Hi."
    await model.close()


async def test_a_client_that_was_given_is_used_and_left_open(wire: Wire) -> None:
    wire.will(*[PROVIDERS["openai"].says("Hi.")] * 2)
    client = openai.AsyncOpenAI(api_key="mine", base_url=wire.url)

    for _ in range(2):
        model = OpenAIModel("gpt-5", client=client)
        await model.respond(ask())
        await model.close()

    assert wire.requests[1].headers["authorization"] == "Bearer mine"
    await client.close()


def test_importing_models_loads_no_sdk() -> None:
    program = (
        "import sys, toolwright.models as m; m.resolve_model; "
        "print([n for n in ('openai', 'anthropic', 'google.genai', 'pydantic_ai', 'httpx2') "
        "if n in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
