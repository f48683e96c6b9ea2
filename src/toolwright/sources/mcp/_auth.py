"""Sign requests to a remote server with the user's credential, fetched anew for each request."""

import base64
import logging
from collections.abc import AsyncGenerator

import httpx2

from toolwright.errors import ToolError
from toolwright.messages import AuthConfig, AuthCredential, secrets_of
from toolwright.sources.mcp._hidden import SentSecrets
from toolwright.tools import ReadonlyContext

__all__ = ["CredentialAuth", "needs_sign_in"]

_log = logging.getLogger("toolwright.mcp")


class CredentialAuth(httpx2.Auth):
    """Puts the credential of one user on every request, so that a refreshed token is used at once.

    After a 401 it is renewed and the request sent once more; a credential that cannot be renewed
    is gone from the store after that, and its user must sign in again.
    """

    def __init__(
        self, context: ReadonlyContext | None, config: AuthConfig, sent: SentSecrets
    ) -> None:
        self._flows = context.run.services.auth if context is not None else None
        self._scope = context.run.scope if context is not None else None
        self._config = config
        self._sent = sent

    async def async_auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Add the credential; once more with another one, if this one is refused."""
        credential = await self._credential()
        if credential is not None:
            self._put(request, credential)
        response = yield request
        if response.status_code == 401 and credential is not None:
            renewed = await self._renewed(credential)
            if renewed is not None:
                self._put(request, renewed)
                yield request

    def _put(self, request: httpx2.Request, credential: AuthCredential) -> None:
        # All of it, and not only what is sent: an error of the sign-in may tell the rest.
        self._sent.add(secrets_of(credential))
        _put(request, credential, self._config)

    async def _credential(self) -> AuthCredential | None:
        if self._flows is None or self._scope is None:
            return self._config.raw_auth_credential
        return await self._flows.ready(self._scope, self._config)

    async def _renewed(self, refused: AuthCredential) -> AuthCredential | None:
        if self._flows is None or self._scope is None:
            return None
        try:
            return await self._flows.renew(self._scope, self._config, refused)
        except ToolError as error:
            _log.warning("A credential was refused and cannot be renewed: %s", error)
            return None


async def needs_sign_in(context: ReadonlyContext | None, config: AuthConfig | None) -> bool:
    """Whether a person must sign in before the server can be used."""
    if config is None or context is None or context.run.services.auth is None:
        return False
    return await context.run.services.auth.ready(context.run.scope, config) is None


def _put(request: httpx2.Request, credential: AuthCredential, config: AuthConfig) -> None:
    if credential.api_key is not None:
        name = getattr(config.auth_scheme, "name", None) or "X-API-Key"
        request.headers[name] = credential.api_key
    elif credential.oauth2 is not None and credential.oauth2.access_token:
        request.headers["Authorization"] = f"Bearer {credential.oauth2.access_token}"
    elif credential.http is not None:
        request.headers["Authorization"] = _http_value(credential)


def _http_value(credential: AuthCredential) -> str:
    assert credential.http is not None
    http, given = credential.http, credential.http.credentials
    if given.token is not None:
        return f"{http.scheme.capitalize()} {given.token}"
    pair = f"{given.username or ''}:{given.password or ''}"
    return f"Basic {base64.b64encode(pair.encode()).decode()}"
