"""Check that an ID token is the provider's, is for this client, and belongs to this sign-in."""

import json
from typing import Any

from authlib.oidc.core import CodeIDToken
from joserfc import jws, jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from toolwright.backends.auth._http import UNREADABLE, SignInRefused, get_json
from toolwright.backends.auth._provider import Provider
from toolwright.messages import OAuth2Auth

__all__ = ["check_id_token"]

_ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "EdDSA"]
_LEEWAY = 60


async def check_id_token(
    tokens: OAuth2Auth, provider: Provider, client_id: str, nonce: str | None
) -> None:
    """`SignInRefused` unless signature, issuer, audience, time, nonce and access token fit.

    Plain OAuth2 has none; where one was asked for (`nonce`), it has to come.
    """
    if not tokens.id_token:
        if nonce is not None:
            raise SignInRefused(
                "The provider was asked who signs in, and gave no ID token", code="no_id_token"
            )
        return
    try:
        header, claims = await _decoded(tokens.id_token, provider)
        _check_kind(header, claims)
        options: dict[str, Any] = {"aud": {"essential": True, "value": client_id}}
        if provider.issuer:
            options["iss"] = {"essential": True, "value": provider.issuer}
        params = {"nonce": nonce, "client_id": client_id, "access_token": tokens.access_token}
        CodeIDToken(claims, header, options, params).validate(leeway=_LEEWAY)
    except (JoseError, *UNREADABLE) as error:
        # Only the library's own errors are sure not to quote the token.
        said = str(error) if isinstance(error, JoseError) else type(error).__name__
        message = f"The provider's ID token is not valid: {said}"
        raise SignInRefused(message, code="invalid_id_token") from None


def _check_kind(header: dict[str, Any], claims: dict[str, Any]) -> None:
    """`SignInRefused` for a token of another kind, or one that asks for what is not done here."""
    kind = header.get("typ", "JWT")
    if asked := [name for name in ("crit", "b64") if name in header]:
        why = f"its header has {asked[0]!r}, and no extension is understood here"
    elif not isinstance(kind, str) or _is_another(kind.lower().removeprefix("application/")):
        why = f"its type is {kind!r:.100}"
    elif "events" in claims:
        why = "it says that somebody signs out"
    else:
        return
    message = f"The provider's ID token is not valid: {why}"
    raise SignInRefused(message, code="invalid_id_token")


def _is_another(kind: str) -> bool:
    """Whether it is for something else, such as an access token of the same provider."""
    return kind.endswith("+jwt") and kind != "id+jwt"


async def _decoded(token: str, provider: Provider) -> tuple[dict[str, Any], dict[str, Any]]:
    if provider.jwks:
        keys = KeySet.import_key_set(await get_json(provider.jwks, provider.reachable))  # type: ignore[arg-type]
        checked = jwt.decode(token, keys, algorithms=_ALGORITHMS)
        return checked.header, checked.claims
    # No key is known, but the token came straight from the token endpoint over TLS, which OpenID
    # Connect (core 1.0, 3.1.3.7, rule 6) accepts in place of the signature.
    read = jws.extract_compact(token.encode())
    return read.headers(), json.loads(read.payload)
