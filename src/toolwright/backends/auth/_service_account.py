"""Tokens for service accounts: a signed statement exchanged for one, or the machine's own."""

from functools import partial
from typing import Any

from authlib.integrations.httpx_client import AsyncAssertionClient
from joserfc.errors import JoseError
from joserfc.jwk import RSAKey

from toolwright.backends import auth
from toolwright.backends.auth._http import connection, refusals_told, require_safe
from toolwright.backends.auth._oauth import tokens_from
from toolwright.concurrency import in_user_thread
from toolwright.errors import UsageError
from toolwright.messages import OAuth2Auth, ServiceAccount, ServiceAccountCredential, secrets_of

__all__ = ["exchange_service_account"]


async def exchange_service_account(account: ServiceAccount) -> OAuth2Auth:
    """An access token for `account`."""
    if account.use_default_credential:
        # In a thread that can be left, and that does not keep the program from ending.
        return await in_user_thread(partial(auth.machine_token, account.scopes))
    if account.service_account_credential is None:
        raise UsageError(
            "ServiceAccount(…) needs service_account_credential=…, or use_default_credential=True."
        )
    return await _exchange_key(account.service_account_credential, account.scopes)


async def _exchange_key(key: ServiceAccountCredential, scopes: list[str]) -> OAuth2Auth:
    require_safe(key.token_uri)
    header = {"alg": "RS256", **({"kid": key.private_key_id} if key.private_key_id else {})}
    try:
        private_key = RSAKey.import_key(key.private_key)
    except (JoseError, ValueError, TypeError):
        # What it was instead may still be a secret, so it is not shown.
        raise UsageError(
            f"The private_key of service account {key.client_email!r} is not an RSA key in PEM form."
        ) from None
    session: Any = AsyncAssertionClient(
        token_endpoint=key.token_uri,
        issuer=key.client_email,
        subject=None,
        claims={"scope": " ".join(scopes)},
        key=private_key,
        header=header,
        **connection(),
    )
    async with refusals_told(secrets_of(key)), session:
        return tokens_from(await session.refresh_token())
