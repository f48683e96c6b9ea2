"""Talk to a provider through Authlib, and turn its refusals into this library's errors."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

from toolwright._tls import certificates
from toolwright.errors import StoreError, ToolError
from toolwright.messages import OAuth2Auth, Redactor, secrets_of

try:
    import httpx2
    from authlib.integrations.base_client import OAuthError
    from authlib.integrations.httpx_client import AsyncOAuth2Client
except ImportError as error:
    raise ImportError("Signing in needs an extra: pip install 'toolwright[auth]'") from error

__all__ = [
    "UNREADABLE",
    "SignInRefused",
    "connection",
    "get_json",
    "oauth_client",
    "refusals_told",
    "unusable",
]

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


def connection() -> dict[str, Any]:
    """How every client connects: not for ever, and with certificates that are read only once."""
    return {"timeout": 20.0, "verify": certificates()}


@asynccontextmanager
async def oauth_client(
    client: OAuth2Auth, scopes: Iterable[str], *, hide: Iterable[str] = ()
) -> AsyncIterator[Any]:
    """An Authlib client for one conversation with a provider, in which `hide` may be sent."""
    session: Any = AsyncOAuth2Client(
        client_id=client.client_id,
        client_secret=client.client_secret,
        token_endpoint_auth_method=client.token_endpoint_auth_method,
        redirect_uri=client.redirect_uri,
        scope=" ".join(scopes) or None,
        code_challenge_method="S256",
        **connection(),
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


async def get_json(address: str) -> dict[str, Any]:
    """A public JSON document of a provider."""
    async with refusals_told(()), httpx2.AsyncClient(**connection()) as session:
        answer = await session.get(address)
        answer.raise_for_status()
        found = answer.json()
        if not isinstance(found, dict):
            raise unusable(f"{address!r} is not a JSON object")
        return found


def unusable(why: str) -> SignInRefused:
    """For an answer that is not what such an answer must be; a run goes on without the sign-in."""
    return SignInRefused(f"The provider's answer cannot be used: {why}.", code="invalid_answer")
