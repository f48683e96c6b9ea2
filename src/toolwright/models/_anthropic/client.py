"""Anthropic's SDK: its client, and its errors in our words."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from toolwright.errors import UsageError
from toolwright.models._errors import model_error, unreachable

try:
    import anthropic
    from anthropic import AsyncAnthropic
except ImportError as error:
    raise ImportError("Claude models need an extra: pip install 'toolwright[anthropic]'") from error

__all__ = ["AsyncAnthropic", "anthropic", "as_model_errors", "client_maker"]


def client_maker(api_key: str | None, base_url: str | None) -> Callable[[], AsyncAnthropic]:
    """Makes clients; raises `UsageError` now when there is no key."""
    key = api_key or os.environ.get("ANTHROPIC_API_KEY")
    if not key and not os.environ.get("ANTHROPIC_AUTH_TOKEN"):
        raise UsageError(
            "No API key for 'anthropic': set the environment variable ANTHROPIC_API_KEY, "
            "or pass api_key=… to the model."
        )
    # Retries are made in one place, for all providers: `ask`.
    return lambda: AsyncAnthropic(api_key=key, base_url=base_url, max_retries=0)


@contextmanager
def as_model_errors(name: str) -> Iterator[None]:
    """Turn what the SDK raises into `ModelError`."""
    try:
        yield
    except anthropic.APITimeoutError as error:
        raise model_error(name, error.message, reason="timeout", url=error.request.url) from error
    except anthropic.APIConnectionError as error:
        detail = f"{error.message} {error.__cause__ or ''}".strip()
        raise unreachable(name, error.request.url, detail) from error
    except anthropic.APIStatusError as error:
        message = f"HTTP {error.status_code}: {error.api_message or error.message}"
        headers = error.response.headers
        status = error.status_code
        url = error.request.url
        raise model_error(
            name, message, code=error.type, status=status, headers=headers, url=url
        ) from error
    except anthropic.APIError as error:
        raise model_error(name, error.message, url=error.request.url) from error
