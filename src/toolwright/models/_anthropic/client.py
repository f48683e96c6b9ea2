"""Anthropic's SDK: its client, and its errors in our words."""

import os
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing, contextmanager
from typing import Any

from toolwright.errors import UsageError
from toolwright.models._answers import DONE, answer_of, events_of
from toolwright.models._errors import model_error
from toolwright.models._exchange import exchange
from toolwright.models._keys import given_address, sendable_key
from toolwright.models._origin import server_named
from toolwright.models._secrets import Secrets

try:
    import anthropic
    from anthropic import AsyncAnthropic, AsyncStream, DefaultAsyncHttpxClient

    from toolwright.models._http import Response, connection_error, transport_errors, watching
except ImportError as error:
    raise ImportError("Claude models need an extra: pip install 'toolwright[anthropic]'") from error

__all__ = [
    "AsyncAnthropic",
    "anthropic",
    "as_model_errors",
    "client_maker",
    "is_own",
    "post",
    "post_streamed",
    "server_of",
]

_PATH = "/v1/messages"
_OWN = "https://api.anthropic.com"
_OWN_ELSEWHERE = (".amazonaws.com", ".googleapis.com")
"""Claude signs its thoughts alike wherever it runs."""
_OPTIONS: Any = {"timeout": 600.0}


def client_maker(
    name: str, api_key: str | None, base_url: str | None, secrets: Secrets
) -> Callable[[], AsyncAnthropic]:
    """Makes clients for the model `name`; raises `UsageError` now when there is no key."""
    key = sendable_key("anthropic", api_key or os.environ.get("ANTHROPIC_API_KEY"))
    if not key and not os.environ.get("ANTHROPIC_AUTH_TOKEN"):
        raise UsageError(
            "No API key for 'anthropic': set the environment variable ANTHROPIC_API_KEY, "
            "or pass api_key=… to the model."
        )

    secrets.hold(key, os.environ.get("ANTHROPIC_AUTH_TOKEN"))
    secrets.hold_address(given_address(base_url) or os.environ.get("ANTHROPIC_BASE_URL"))

    def make() -> AsyncAnthropic:
        http = DefaultAsyncHttpxClient(event_hooks=watching(name, secrets))
        # Retries are made in one place, for all providers: `ask`.
        return AsyncAnthropic(api_key=key, base_url=base_url, max_retries=0, http_client=http)

    return make


def server_of(base_url: object) -> str:
    """The server that wrote what a model at this address writes."""
    server = _address(base_url)
    return _OWN if server.endswith(_OWN_ELSEWHERE) else server


def is_own(base_url: object) -> bool:
    """Whether it is Anthropic's own address, where the newest of its API is known."""
    return _address(base_url) == _OWN


def _address(base_url: object) -> str:
    return server_named(base_url or os.environ.get("ANTHROPIC_BASE_URL") or _OWN)


@contextmanager
def as_model_errors(name: str) -> Iterator[None]:
    """Turn what the SDK raises into `ModelError`."""
    try:
        with transport_errors(name):
            yield
    except anthropic.APITimeoutError as error:
        raise model_error(name, error.message, reason="timeout", url=error.request.url) from error
    except anthropic.APIConnectionError as error:
        raise connection_error(name, error.request.url, error) from error
    except anthropic.APIStatusError as error:
        message = f"HTTP {error.status_code}: {error.api_message or error.message}"
        headers = error.response.headers
        status = error.status_code
        url = error.request.url
        raise model_error(
            name, message, codes=(error.type,), status=status, headers=headers, url=url
        ) from error
    except anthropic.APIError as error:
        raise model_error(name, error.message) from error


# Bodies go out and answers come in as they are: the SDK would walk through all of the history each
# turn, drop the blocks that it does not know, and warn about them.


async def post(client: AsyncAnthropic, body: dict[str, Any], name: str) -> dict[str, Any]:
    """The answer to `body`."""
    _asking(client)
    response = await client.post(_PATH, cast_to=Response, body=body, options=_OPTIONS)
    return await answer_of(response, name)


async def post_streamed(
    client: AsyncAnthropic, body: dict[str, Any], name: str
) -> AsyncGenerator[dict[str, Any], None]:
    """The events of the answer to `body`, as they come."""
    _asking(client)
    body, kind = {**body, "stream": True}, AsyncStream[object]
    stream = await client.post(
        _PATH, cast_to=object, body=body, options=_OPTIONS, stream=True, stream_cls=kind
    )
    async with stream, aclosing(events_of(stream.response, name)) as events:
        async for event in events:
            if event is not DONE:
                yield event


def _asking(client: AsyncAnthropic) -> None:
    exchange().asked(f"{str(client.base_url).rstrip('/')}{_PATH}")
