"""Keeps what the SDK's OAuth provider obtains where all other credentials are kept."""

from mcp.shared.auth import OAuthClientInformationFull, OAuthToken

from toolwright._sealed import Sealed
from toolwright.messages import Scope
from toolwright.tools import Credentials

__all__ = ["StoredTokens"]


class StoredTokens(Sealed):
    """The `storage` of an `mcp.client.auth.OAuthClientProvider`, on a credential store of ours.

    `key` names the server; the tokens and the registered client are kept apart under it.
    """

    def __init__(self, credentials: Credentials, scope: Scope, key: str) -> None:
        self._credentials = credentials
        self._scope = scope
        self._tokens_key = f"mcp:{key}:tokens"
        self._client_key = f"mcp:{key}:client"

    async def get_tokens(self) -> OAuthToken | None:
        """The tokens, if the user has signed in."""
        saved = await self._credentials.load(self._scope, self._tokens_key)
        return None if saved is None else OAuthToken.model_validate(saved)

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Keep new tokens."""
        saved = tokens.model_dump(mode="json", exclude_none=True)
        await self._credentials.save(self._scope, self._tokens_key, saved)

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """The client as it was registered with the authorization server."""
        saved = await self._credentials.load(self._scope, self._client_key)
        return None if saved is None else OAuthClientInformationFull.model_validate(saved)

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Keep the registration."""
        saved = client_info.model_dump(mode="json", exclude_none=True)
        await self._credentials.save(self._scope, self._client_key, saved)
