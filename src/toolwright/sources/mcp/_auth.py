"""Sign requests to a remote server with the user's credential, fetched anew for each request."""

import base64
from collections.abc import AsyncGenerator

import httpx2

from toolwright.messages import AuthConfig, AuthCredential, Scope
from toolwright.tools import ReadonlyContext

__all__ = ["CredentialAuth", "needs_sign_in"]


class CredentialAuth(httpx2.Auth):
    """Puts the credential of one user on every request, so that a refreshed token is used at once."""

    def __init__(self, context: ReadonlyContext | None, config: AuthConfig) -> None:
        self._flows = context.run.services.auth if context is not None else None
        self._scope = context.run.scope if context is not None else None
        self._config = config
        self.refused = False
        """Whether the server has answered 401 to the last request."""

    async def async_auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Add the credential, and note whether it was accepted."""
        credential = await self._credential(self._scope)
        if credential is not None:
            _put(request, credential, self._config)
        response = yield request
        self.refused = response.status_code == 401

    async def _credential(self, scope: Scope | None) -> AuthCredential | None:
        if self._flows is None or scope is None:
            return self._config.raw_auth_credential
        return await self._flows.ready(scope, self._config)


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
