"""Google's SDK: its client, and its errors in our words."""

import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from toolwright._tls import certificates
from toolwright.errors import ModelError, UsageError
from toolwright.models._errors import model_error, parsing, reading
from toolwright.models._keys import given_address, sendable_key
from toolwright.models._origin import server_named
from toolwright.models._secrets import Secrets

try:
    import httpx2
    from google import genai
    from google.genai import errors, types

    from toolwright.models._http import transport_errors, watching
except ImportError as error:
    raise ImportError("Gemini models need an extra: pip install 'toolwright[google]'") from error

__all__ = ["Connection", "as_model_errors", "connector", "server_of", "wants_vertex"]

_TIMEOUT_MS = 600_000
# What Google adds to its API is kept as it comes, and is no news for whoever runs a program.
warnings.filterwarnings("ignore", message=".* is not a valid ", module=r"google\.genai")


@dataclass(frozen=True, slots=True)
class Connection:
    """The SDK's client and the connections below it, which it leaves to us to close."""

    client: genai.Client
    http: httpx2.AsyncClient | None = None

    async def close(self) -> None:
        """Close what was opened here."""
        if self.http is not None:
            await self.http.aclose()


def wants_vertex() -> bool:
    """Whether the environment says to use Vertex AI, in the way Google's SDK reads it."""
    return os.environ.get("GOOGLE_GENAI_USE_VERTEXAI", "").lower() in ("true", "1")


def connector(
    name: str,
    *,
    vertex: bool,
    api_key: str | None,
    project: str | None,
    location: str | None,
    base_url: str | None,
    secrets: Secrets,
) -> Callable[[], Connection]:
    """Makes connections; raises `UsageError` now when it is not known who is asking."""
    options: dict[str, Any] = (
        _vertex_options(api_key, project, location) if vertex else _gemini_options(api_key)
    )

    secrets.hold(options.get("api_key"))
    secrets.hold_address(given_address(base_url))

    def connect() -> Connection:
        # A client of our own, so that a cancelled stream closes its connection at once.
        http = httpx2.AsyncClient(
            event_hooks=watching(name, secrets, plainly=True),
            follow_redirects=True,  # as the other SDKs do, and held to the same server as theirs
            verify=certificates(),
        )
        http_options = types.HttpOptions(
            base_url=base_url, httpx_async_client=http, timeout=_TIMEOUT_MS
        )
        return Connection(genai.Client(http_options=http_options, **options), http)

    return connect


def server_of(provider: str, base_url: str | None, client: Any = None) -> str:
    """The server that wrote what a model writes: Google's own has one name, wherever it is."""
    inner = getattr(getattr(client, "_api_client", None), "_http_options", None)
    server = server_named(base_url or getattr(inner, "base_url", None) or "https://.googleapis.com")
    return provider if server.endswith(".googleapis.com") else server


def _gemini_options(api_key: str | None) -> dict[str, Any]:
    key = api_key or os.environ.get("GOOGLE_API_KEY") or os.environ.get("GEMINI_API_KEY")
    if not key:
        raise UsageError(
            "No API key for 'google': set the environment variable GOOGLE_API_KEY (or "
            "GEMINI_API_KEY), or pass api_key=… to the model. For Vertex AI write 'vertex:name'."
        )
    return {"vertexai": False, "api_key": sendable_key("google", key)}


def _vertex_options(
    api_key: str | None, project: str | None, location: str | None
) -> dict[str, Any]:
    if api_key:
        return {"vertexai": True, "api_key": sendable_key("vertex", api_key)}
    project = project or os.environ.get("GOOGLE_CLOUD_PROJECT")
    if not project:
        raise UsageError(
            "No project for 'vertex': set the environment variable GOOGLE_CLOUD_PROJECT (and "
            "GOOGLE_CLOUD_LOCATION), or pass project=… to GeminiModel(…, vertex=True)."
        )
    location = location or os.environ.get("GOOGLE_CLOUD_LOCATION") or "global"
    return {"vertexai": True, "project": project, "location": location}


@contextmanager
def as_model_errors(name: str) -> Iterator[None]:
    """Turn what the SDK and its transport raise into `ModelError`."""
    try:
        # The SDK reads the reply by itself, so that its shape is met with in there.
        with (
            reading(name),
            parsing(name),
            _plain_json_errors(),
            transport_errors(name),
        ):
            yield
    except errors.APIError as error:
        raise _from_status(name, error) from error


@contextmanager
def _plain_json_errors() -> Iterator[None]:
    """Without the SDK's own exception around the one that has the text."""
    try:
        yield
    except errors.UnknownApiResponseError as error:
        raise error.__cause__ or error from error


def _from_status(name: str, error: errors.APIError) -> ModelError:
    headers = dict(getattr(error.response, "headers", None) or {})
    delay = _retry_delay(error.details)
    if delay is not None:
        headers["retry-after"] = delay
    message = f"HTTP {error.code}: {error.message}"
    url = getattr(error.response, "url", None)
    return model_error(
        name, message, codes=(error.status,), status=error.code, headers=headers, url=url
    )


def _retry_delay(body: Any) -> str | None:
    """Google says when to try again in the error's details, as seconds with an `s`."""
    error = body.get("error") if isinstance(body, dict) else None
    details = error.get("details") if isinstance(error, dict) else None
    for detail in details if isinstance(details, list) else ():
        if isinstance(detail, dict) and "retryDelay" in detail:
            return str(detail["retryDelay"]).removesuffix("s")
    return None
