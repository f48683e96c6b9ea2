"""No text that leaves a model shows the key that the model holds, whoever repeated it."""

import logging
import traceback
from collections.abc import Callable
from typing import Any

import anthropic
import openai
import pytest
from google import genai
from pydantic_ai.models.openai import OpenAIChatModel as TheirModel
from pydantic_ai.providers.openai import OpenAIProvider
from tests.models.requests import ask
from tests.models.wire import Reply, Wire

from toolwright.errors import ModelError
from toolwright.models import (
    AnthropicModel,
    GeminiModel,
    Model,
    OpenAIChatModel,
    OpenAIModel,
    PydanticAIModel,
    Retries,
)

pytestmark = pytest.mark.anyio

ONCE = Retries(attempts=1)
RANDOM = "Zq8vN3xWb7LmT2yRk5HcJd9PfGs4Ae6U"
KEYS = (RANDOM, f"gsk_{RANDOM}", f"xai-{RANDOM}", f"hf_{RANDOM}", f"sk-proj-{RANDOM}")
BY_KEY: dict[str, Callable[[str, str], Model]] = {
    "chat": lambda url, key: OpenAIChatModel("m", base_url=url, api_key=key, retries=ONCE),
    "responses": lambda url, key: OpenAIModel("gpt-5", base_url=url, api_key=key, retries=ONCE),
    "anthropic": lambda url, key: AnthropicModel("c", base_url=url, api_key=key, retries=ONCE),
    "gemini": lambda url, key: GeminiModel(
        "gemini-3", base_url=url, api_key=key, vertex=False, retries=ONCE
    ),
    "pydantic-ai": lambda url, key: PydanticAIModel(
        TheirModel("m", provider=OpenAIProvider(base_url=url, api_key=key))
    ),
}


def google(url: str, key: str) -> genai.Client:
    return genai.Client(api_key=key, http_options=genai.types.HttpOptions(base_url=url))


BY_CLIENT: dict[str, Callable[[str, str], Model]] = {
    "client-chat": lambda url, key: OpenAIChatModel(
        "m", client=openai.AsyncOpenAI(api_key=key, base_url=url, max_retries=0), retries=ONCE
    ),
    "client-header": lambda url, key: OpenAIModel(
        "m",
        client=openai.AsyncOpenAI(
            api_key="k", default_headers={"api-key": key}, base_url=url, max_retries=0
        ),
        retries=ONCE,
    ),
    "client-anthropic": lambda url, key: AnthropicModel(
        "m",
        client=anthropic.AsyncAnthropic(auth_token=key, base_url=url, max_retries=0),
        retries=ONCE,
    ),
    "client-gemini": lambda url, key: GeminiModel(
        "gemini-3", client=google(url, key), retries=ONCE
    ),
}


def echoes(key: str) -> tuple[Reply, ...]:
    """What servers and proxies answer with the key in it."""
    error: Any = {"message": f"Incorrect API key provided: {key}. See x", "code": "invalid_api_key"}
    cut: Any = {"message": "x" * 960 + key, "type": "authentication_error"}
    return (
        Reply(
            body={"type": "error", "error": error | {"type": "authentication_error"}}, status=401
        ),
        Reply(body={"type": "error", "error": cut}, status=401),
        Reply(raw=f"<html>the header was {key}</html>".encode()),
        Reply(raw=f"<html>{'x' * 180}{key}</html>".encode()),
        Reply(body={"message": f"headers: x-api-key {key}"}),
        Reply(raw=f"{{not JSON {key}".encode()),
    )


@pytest.mark.parametrize("kind", [*BY_KEY, *BY_CLIENT])
async def test_an_echoed_key_is_hidden_in_the_error_and_in_what_it_was_raised_from(
    wire: Wire, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    for key in KEYS:
        model = (BY_KEY | BY_CLIENT)[kind](wire.url, key)
        for reply in echoes(key) if key == RANDOM else echoes(key)[:1]:
            wire.will(reply)
            with pytest.raises(ModelError) as caught:
                await model.respond(ask())
            logging.getLogger("of.a.program").exception("It failed", exc_info=caught.value)
            shown = "".join(traceback.format_exception(caught.value))
            # Half of a key is what a text that was cut too early shows.
            assert key[:20] not in shown
            assert str(caught.value).startswith(f"{model.name}: ")
            await close(model)
    assert RANDOM[:20] not in caplog.text


async def close(model: Model) -> None:
    if not isinstance(model, PydanticAIModel):
        await model.close()  # pyrefly: ignore[missing-attribute]


async def test_a_word_for_no_key_hides_nothing(wire: Wire) -> None:
    for key in ("lm-studio", "ollama", "EMPTY"):
        model = OpenAIChatModel("m", provider=key, base_url=wire.url, api_key=key, retries=ONCE)
        wire.will(Reply(body={"error": {"message": f"{key} has no model"}}, status=404))
        with pytest.raises(ModelError, match=f"^{key}:m: HTTP 404: {key} has no model"):
            await model.respond(ask())


async def test_a_password_in_the_address_is_hidden(wire: Wire) -> None:
    address = wire.url.replace("://", "://me:pass-of-mine@")
    model = OpenAIChatModel("m", base_url=address, api_key="k", retries=ONCE)
    wire.will(Reply(raw=b"<html>who is pass-of-mine?</html>"))
    with pytest.raises(ModelError) as caught:
        await model.respond(ask())
    assert "who is [redacted]?" in str(caught.value)
    assert "pass-of-mine" not in str(caught.value)
