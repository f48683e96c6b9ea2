"""The steps of OAuth2: send a person to sign in, redeem their code, refresh, ask for oneself."""

import time
from typing import Any
from urllib.parse import urlsplit

from authlib.common.security import generate_token
from pydantic import ValidationError

from toolwright.backends.auth._callback import answers_state, callback_in
from toolwright.backends.auth._http import SignInRefused, oauth_client, unusable
from toolwright.backends.auth._id_token import check_id_token
from toolwright.backends.auth._provider import Provider
from toolwright.errors import UsageError
from toolwright.messages import OAuth2Auth, secrets_of

__all__ = [
    "OVER",
    "ask_for_oneself",
    "begin_sign_in",
    "code_in",
    "is_over",
    "redeem",
    "refresh",
    "tokens_from",
]

OVER = "begun_too_long_ago"


_OPEN_SECONDS = 3600
"""How long a sign-in that was begun can be finished."""
_LONGEST_SAID = 300
_OURS = {"client_id", "code_challenge", "code_challenge_method", "nonce", "redirect_uri"}
_OURS |= {"response_type", "scope", "state"}
"""What makes a sign-in safe is new for each one, and never taken from a configuration."""


async def begin_sign_in(client: OAuth2Auth, provider: Provider) -> OAuth2Auth:
    """A half-finished flow: the address to sign in at, and what will prove that it was ours."""
    if not provider.authorization:
        raise UsageError(
            "This provider has no authorization endpoint, so nobody can sign in there."
        )
    if fixed := sorted(_OURS & client.authorization_params.keys()):
        raise UsageError(
            f"authorization_params may not set {fixed[0]!r}: it is part of what protects a sign-in; "
            "leave it out."
        )
    verifier = generate_token(64)
    nonce = generate_token(32) if "openid" in provider.scopes else None
    extra = {"nonce": nonce, "audience": client.audience, **client.authorization_params}
    async with oauth_client(client, provider.scopes, reachable=provider.reachable) as session:
        address, state = session.create_authorization_url(
            provider.authorization,
            code_verifier=verifier,
            **{name: value for name, value in extra.items() if value},
        )
    return OAuth2Auth(
        client_id=client.client_id,
        redirect_uri=client.redirect_uri,
        scope=" ".join(provider.scopes),
        auth_uri=address,
        state=state,
        nonce=nonce,
        code_verifier=verifier,
        expires_at=int(time.time()) + _OPEN_SECONDS,
    )


def is_over(flow: OAuth2Auth) -> bool:
    """Whether it was begun too long ago to be finished."""
    return flow.expires_at is not None and flow.expires_at < time.time()


def code_in(response: str, flow: OAuth2Auth, provider: Provider) -> str:
    """The code in the address that the provider sent the person back to.

    `UsageError` when the address does not answer this flow, `SignInRefused` when it ends it.
    """
    found = callback_in(response)
    # First of all: an address with another state was not asked for by this flow.
    if not answers_state(found, flow.state):
        raise UsageError(
            "This sign-in does not belong to the open request (its state differs). "
            "Sign in again at the address that was shown."
        )
    _check_sender(found.get("iss"), provider)
    if "error" in found:
        said = _one_line(found.get("error_description") or found["error"])
        raise SignInRefused(f"The sign-in was refused: {said}", code=found["error"])
    if not found.get("code"):
        raise UsageError("The address has no code; give the whole one the browser ended up at.")
    if is_over(flow):
        raise SignInRefused("This sign-in was begun too long ago", code=OVER)
    return found["code"]


async def redeem(flow: OAuth2Auth, client: OAuth2Auth, provider: Provider, code: str) -> OAuth2Auth:
    """The tokens for the code that the provider sent the person back with."""
    hide = {code, *secrets_of(flow)}
    async with oauth_client(
        client, provider.scopes, reachable=provider.reachable, hide=hide
    ) as session:
        token = await session.fetch_token(
            provider.token,
            grant_type="authorization_code",
            code=code,
            code_verifier=flow.code_verifier,
            **_audience(client),
        )
    tokens = tokens_from(token)
    await check_id_token(tokens, provider, client.client_id or "", flow.nonce)
    # Kept, so that bringing the same address back a second time is recognised.
    return tokens.model_copy(update={"state": flow.state})


async def refresh(saved: OAuth2Auth, client: OAuth2Auth, provider: Provider) -> OAuth2Auth:
    """New tokens for the refresh token; what the provider gives no other of stays the same."""
    address = provider.refresh or provider.token
    async with oauth_client(
        client, (), reachable=provider.reachable, hide=secrets_of(saved)
    ) as session:
        token = await session.refresh_token(
            address, refresh_token=saved.refresh_token, **_audience(client)
        )
    tokens = tokens_from(token)
    # Who it is was proved at the sign-in: the ID token of that moment is the one that was checked.
    new = tokens.model_dump(exclude_none=True, exclude={"id_token"})
    return saved.model_copy(update={**new, "expires_at": tokens.expires_at})


async def ask_for_oneself(client: OAuth2Auth, provider: Provider) -> OAuth2Auth:
    """A token for the client itself (the client credentials grant)."""
    extra = {"audience": client.audience} if client.audience else {}
    async with oauth_client(client, provider.scopes, reachable=provider.reachable) as session:
        token = await session.fetch_token(provider.token, grant_type="client_credentials", **extra)
    return tokens_from(token)


def _audience(client: OAuth2Auth) -> dict[str, str]:
    """For whom a token is (RFC 8707): said where it is redeemed, too, if it was said at sign-in."""
    resource = client.authorization_params.get("resource")
    return {"resource": resource} if resource else {}


def tokens_from(token: dict[str, Any]) -> OAuth2Auth:
    """A provider's token response, the parts that are kept."""
    if not token.get("access_token"):
        raise SignInRefused("The provider answered without an access token.", code="no_token")
    kept = ("access_token", "refresh_token", "id_token", "expires_at", "token_type", "scope")
    try:
        return OAuth2Auth(**{name: token[name] for name in kept if token.get(name) is not None})
    except ValidationError as error:
        wrong = sorted({str(problem["loc"][0]) for problem in error.errors()})
        raise unusable(f"its {', '.join(wrong)} is not of the right type") from None


def _check_sender(iss: str | None, provider: Provider) -> None:
    """`UsageError` if another provider has answered: it would have its own code redeemed here."""
    if iss is None:
        if provider.names_itself:
            raise UsageError(
                f"The answer does not say that it is from {provider.issuer!r}, which always says so."
            )
        return
    if provider.issuer is not None:
        wanted, given = provider.issuer, iss
    else:  # Only where it asks people to sign in is known.
        wanted, given = _origin(provider.authorization or ""), _origin(iss)
    if given.rstrip("/") != wanted.rstrip("/"):
        raise UsageError(f"The answer came from {iss!r}, not from {wanted!r}.")


def _origin(address: str) -> str:
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc}".lower()


def _one_line(said: str) -> str:
    """A provider's words as they may be shown: not endless, and no lines or colours of their own."""
    return "".join(c if c.isprintable() else " " for c in said[:_LONGEST_SAID])
