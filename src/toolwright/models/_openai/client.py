"""What the two OpenAI protocols share: the SDK's client, its errors, and where it connects to."""

import os
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing, contextmanager
from typing import Any

from toolwright.errors import ModelError, UsageError
from toolwright.models._answers import DONE, answer_of, events_of
from toolwright.models._errors import model_error
from toolwright.models._exchange import exchange
from toolwright.models._keys import sendable_key
from toolwright.models._model import ModelRequest
from toolwright.models._openai.servers import SERVERS, Server, address_of
from toolwright.models._secrets import Secrets

try:
    import openai
    from openai import AsyncOpenAI, AsyncStream, DefaultAsyncHttpxClient

    from toolwright.models._http import Response, connection_error, transport_errors, watching
except ImportError as error:
    raise ImportError("OpenAI models need an extra: pip install 'toolwright[openai]'") from error

__all__ = [
    "DONE",
    "AsyncOpenAI",
    "as_model_errors",
    "cache_settings",
    "client_maker",
    "get",
    "post",
    "post_streamed",
]


_NO_KEY = "none"
"""The SDK insists on a key; local servers ignore it."""


def client_maker(
    name: str, provider: str, api_key: str | None, base_url: str | None, secrets: Secrets
) -> Callable[[], AsyncOpenAI]:
    """Makes clients for the model `name`; raises `UsageError` now when there is no key."""
    key, url = _key_for(provider, api_key, base_url), address_of(provider, base_url)
    secrets.hold(key)
    secrets.hold_address(url)

    def make() -> AsyncOpenAI:
        http = DefaultAsyncHttpxClient(event_hooks=watching(name, secrets))
        # Retries are made in one place, for all providers: `ask`.
        return AsyncOpenAI(api_key=key, base_url=url, max_retries=0, http_client=http)

    return make


def _key_for(provider: str, api_key: str | None, base_url: str | None) -> str:
    """The key to use: what was given, else the environment's."""
    preset = SERVERS.get(provider, Server(needs_key=False))
    key = sendable_key(provider, api_key or os.environ.get(preset.key_variable))
    # A base URL of one's own is a server of one's own, which may well take no key.
    if not key and preset.needs_key and base_url is None:
        raise UsageError(
            f"No API key for {provider!r}: set the environment variable {preset.key_variable}, "
            "or pass api_key=… to the model."
        )
    return key or _NO_KEY


@contextmanager
def as_model_errors(name: str) -> Iterator[None]:
    """Turn what the SDK raises into `ModelError`."""
    try:
        with transport_errors(name):
            yield
    except openai.APITimeoutError as error:
        raise model_error(name, str(error), reason="timeout", url=error.request.url) from error
    except openai.APIConnectionError as error:
        raise connection_error(name, error.request.url, error) from error
    except openai.APIStatusError as error:
        raise _from_status(name, error) from error
    except openai.APIError as error:
        raise model_error(name, error.message, codes=_codes(error)) from error


def _codes(error: openai.APIError) -> tuple[object, ...]:
    return error.code, error.type


def _from_status(name: str, error: openai.APIStatusError) -> ModelError:
    return model_error(
        name,
        _message(error),
        codes=_codes(error),
        status=error.status_code,
        headers=error.response.headers,
        url=error.request.url,
    )


def _message(error: openai.APIStatusError) -> str:
    body: Any = error.body
    told = body.get("message") if isinstance(body, dict) else None
    return f"HTTP {error.status_code}: {told or error.message}"


# Bodies go out and answers come in as they are. The SDK would walk through all of the history each
# turn, and work out classes for everything that its API knows before it shows the first word.
_KEY_ONLY: Any = {"security": {"bearer_auth": True}}
"""Never the administrator's key, which the SDK would find in the environment."""


async def post(client: AsyncOpenAI, path: str, body: dict[str, Any], name: str) -> dict[str, Any]:
    """The answer to `body`."""
    _asking(client, path)
    response = await client.post(path, cast_to=Response, body=body, options=_KEY_ONLY)
    return await answer_of(response, name)


async def get(client: AsyncOpenAI, path: str, name: str) -> dict[str, Any]:
    """What is at `path` now."""
    _asking(client, path)
    response = await client.get(path, cast_to=Response, options=_KEY_ONLY)
    return await answer_of(response, name)


async def post_streamed(
    client: AsyncOpenAI, path: str, body: dict[str, Any], name: str
) -> AsyncGenerator[dict[str, Any], None]:
    """The events of the answer to `body`, as they come, and `DONE` where the server says so."""
    _asking(client, path)
    body, kind = {**body, "stream": True}, AsyncStream[object]
    stream = await client.post(
        path, cast_to=object, body=body, options=_KEY_ONLY, stream=True, stream_cls=kind
    )
    async with stream, aclosing(events_of(stream.response, name)) as events:
        async for event in events:
            yield event


def _asking(client: AsyncOpenAI, path: str) -> None:
    exchange().asked(f"{str(client.base_url).rstrip('/')}{path}")


def cache_settings(request: ModelRequest, *, is_own: bool) -> dict[str, Any]:
    """What a request says about the prompt cache; `is_own`: to OpenAI itself, which knows all of it."""
    settings = request.settings
    key = settings.cache_key or (request.conversation if is_own and settings.cache_prompt else "")
    said = {"prompt_cache_key": key} if key else {}
    return {**said, "prompt_cache_retention": "24h"} if settings.cache_prompt == "long" else said
