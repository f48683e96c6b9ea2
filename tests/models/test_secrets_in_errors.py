"""No text that leaves a model shows the key that the model holds, whoever repeated it."""

import logging
import traceback
from collections.abc import Awaitable, Callable
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


def provider_of(key: str) -> Callable[[], Awaitable[str]]:
    async def fetch() -> str:
        return key

    return fetch


def fetching(url: str, key: str) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(api_key=provider_of(key), base_url=url, max_retries=0)


def azure(url: str, **signed_in: Any) -> openai.AsyncOpenAI:
    return openai.AsyncAzureOpenAI(azure_endpoint=url, api_version="1", max_retries=0, **signed_in)


def exchanged(kind: Any, client: Any, url: str, key: str) -> Model:
    made = client(api_key="the-key-before", base_url=url, max_retries=0)
    model: Model = kind("m", client=made, retries=ONCE)
    made.api_key = key
    return model


def signed(request: Any, key: str) -> Any:
    request.headers["x-signature"] = key
    return request


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
    # Nobody has told the model these keys: it sees them only in what was sent.
    "fetched-chat": lambda url, key: OpenAIChatModel("m", client=fetching(url, key), retries=ONCE),
    "fetched-responses": lambda url, key: OpenAIModel("m", client=fetching(url, key), retries=ONCE),
    "fetched-pydantic-ai": lambda url, key: PydanticAIModel(
        TheirModel("m", provider=OpenAIProvider(openai_client=fetching(url, key)))
    ),
    "azure-provider": lambda url, key: OpenAIChatModel(
        "m", client=azure(url, azure_ad_token_provider=provider_of(key)), retries=ONCE
    ),
    "azure-token": lambda url, key: OpenAIModel(
        "m", client=azure(url, azure_ad_token=key), retries=ONCE
    ),
    "gateway-chat": lambda url, key: OpenAIChatModel(
        "m",
        client=openai.AsyncOpenAI(
            api_key="none",
            default_headers={"cf-aig-authorization": f"Bearer {key}"},
            base_url=url,
            max_retries=0,
        ),
        retries=ONCE,
    ),
    "gateway-anthropic": lambda url, key: AnthropicModel(
        "m",
        client=anthropic.AsyncAnthropic(
            api_key="none",
            default_headers={"x-gateway-token": key},
            base_url=url,
            max_retries=0,
        ),
        retries=ONCE,
    ),
    "exchanged-chat": lambda url, key: exchanged(OpenAIChatModel, openai.AsyncOpenAI, url, key),
    "exchanged-anthropic": lambda url, key: exchanged(
        AnthropicModel, anthropic.AsyncAnthropic, url, key
    ),
    "signed-anthropic": lambda url, key: AnthropicModel(
        "m",
        client=anthropic.AsyncAnthropic(
            api_key="none",
            base_url=url,
            max_retries=0,
            http_client=anthropic.DefaultAsyncHttpxClient(auth=lambda sent: signed(sent, key)),
        ),
        retries=ONCE,
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
        asked = [(reply, listen) for reply in echoes(key) for listen in (None, lambda _: None)]
        for reply, listen in asked if key == RANDOM else asked[:1]:
            wire.will(reply)
            with pytest.raises(ModelError) as caught:
                await model.respond(ask(), listen)
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
