"""Talk to a provider through Authlib, and turn its refusals into this library's errors."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

from toolwright._hosts import is_plainly_local
from toolwright._tls import certificates
from toolwright.errors import StoreError, ToolError, UsageError
from toolwright.messages import OAuth2Auth, Redactor, secrets_of

try:
    import httpx2
    from authlib.integrations.base_client import OAuthError
    from authlib.integrations.httpx_client import AsyncOAuth2Client

    from toolwright.backends._network import Reachable, guarded_transport
except ImportError as error:
    raise ImportError("Signing in needs an extra: pip install 'toolwright[auth]'") from error

__all__ = [
    "UNREADABLE",
    "SignInRefused",
    "connection",
    "get_json",
    "judge",
    "oauth_client",
    "refusals_told",
    "require_safe",
    "unusable",
]

_MOST_BYTES = 1024 * 1024
UNREADABLE = (
    ValueError, TypeError, AttributeError, LookupError, ArithmeticError, RecursionError,
    httpx2.InvalidURL,
)  # fmt: skip
"""What reading JSON, and Authlib's working with it, raise for values of the wrong kind or depth."""


class SignInRefused(ToolError):
    """The provider said no; `code` is its own word for it, such as `invalid_grant`."""

    def __init__(self, message: str, *, code: str) -> None:
        super().__init__(message)
        self.code = code


def connection(reachable: Reachable | None = None) -> dict[str, Any]:
    """How every client connects: not for ever, and only to where it may."""
    settings: dict[str, Any] = {
        "timeout": 20.0,
        "headers": {"Accept-Encoding": "identity"},  # Packed, a few bytes could become any number.
        "event_hooks": {"response": [_bound]},
    }
    if reachable is None:
        return {**settings, "verify": certificates()}
    return {**settings, "transport": guarded_transport(reachable)}


async def _bound(response: httpx2.Response) -> None:
    """Have no more read of an answer than a provider has to say."""
    packed = response.headers.get("Content-Encoding", "identity")
    if packed.lower() != "identity":
        raise unusable(f"it is packed ({packed:.100}), though it was asked not to be")
    assert isinstance(response.stream, httpx2.AsyncByteStream)
    response.stream = _Bounded(response.stream)


class _Bounded(httpx2.AsyncByteStream):
    def __init__(self, inner: httpx2.AsyncByteStream) -> None:
        self._inner = inner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._inner:
            size += len(chunk)
            if size > _MOST_BYTES:
                raise unusable(f"it has more than {_MOST_BYTES:,} bytes")
            yield chunk

    async def aclose(self) -> None:
        await self._inner.aclose()


def require_safe(address: str) -> None:
    """`UsageError` unless the address is HTTPS, or on this very machine."""
    parts = urlsplit(address)
    if parts.scheme == "https" or (
        parts.scheme == "http" and is_plainly_local(parts.hostname or "")
    ):
        return
    raise UsageError(f"Secrets would travel unprotected to {address!r}; use its https:// address.")


async def judge(address: str, reachable: Reachable | None) -> None:
    """Raises unless the address may be asked; where it leads is looked at again when connecting."""
    if reachable is not None:
        try:
            url = httpx2.URL(address)
        except httpx2.InvalidURL as error:
            raise ToolError(f"Nobody can be signed in at {address[:300]!r}: {error}.") from error
        await reachable.addresses(url.raw_host.decode(), url.port or 443)
    require_safe(address)


@asynccontextmanager
async def oauth_client(
    client: OAuth2Auth,
    scopes: Iterable[str],
    *,
    reachable: Reachable | None,
    hide: Iterable[str] = (),
) -> AsyncIterator[Any]:
    """An Authlib client for one conversation with a provider, in which `hide` may be sent."""
    session: Any = AsyncOAuth2Client(
        client_id=client.client_id,
        client_secret=client.client_secret,
        token_endpoint_auth_method=client.token_endpoint_auth_method,
        redirect_uri=client.redirect_uri,
        scope=" ".join(scopes) or None,
        code_challenge_method="S256",
        **connection(reachable),
    )
    async with session, refusals_told({*secrets_of(client), *hide}):
        yield session


@asynccontextmanager
async def refusals_told(secrets: Iterable[str]) -> AsyncIterator[None]:
    """Errors of the block, told without the secrets that a provider may have echoed."""
    hide = Redactor(secrets)
    try:
        yield
    except OAuthError as error:
        code = str(error.error or "error")
        said = hide(f"{code}: {error.description}" if error.description else code)
        raise SignInRefused(f"The provider refused: {said}", code=code) from None
    except httpx2.HTTPError as error:
        said = hide(str(error))
        raise StoreError(
            f"The provider could not be asked: {said or type(error).__name__}"
        ) from None
    except UNREADABLE as error:
        # Only its kind: the text may quote a token.
        raise unusable(f"it cannot be read ({type(error).__name__})") from None


async def get_json(address: str, reachable: Reachable | None) -> dict[str, Any]:
    """A public JSON document of a provider."""
    async with refusals_told(()), httpx2.AsyncClient(**connection(reachable)) as session:
        answer = await session.get(address)
        answer.raise_for_status()
        found = answer.json()
        if not isinstance(found, dict):
            raise unusable(f"{address!r} is not a JSON object")
        return found


def unusable(why: str) -> SignInRefused:
    """For an answer that is not what such an answer must be; a run goes on without the sign-in."""
    return SignInRefused(f"The provider's answer cannot be used: {why}.", code="invalid_answer")
