"""Turn what a developer configured and what a person did into a credential ready to use."""

import secrets
import time
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar, cast
from weakref import WeakValueDictionary

import anyio
from anyio.lowlevel import RunVar

from toolwright._sealed import Sealed
from toolwright.backends.auth._answers import credential_in, redirect_in
from toolwright.backends.auth._callback import answers_state, callback_in
from toolwright.backends.auth._http import SignInRefused
from toolwright.backends.auth._oauth import (
    OVER,
    ask_for_oneself,
    begin_sign_in,
    code_in,
    is_over,
    redeem,
    refresh,
)
from toolwright.backends.auth._provider import Provider, find_provider
from toolwright.backends.auth._service_account import exchange_service_account
from toolwright.backends.auth._store import CredentialStore
from toolwright.concurrency import finish
from toolwright.errors import ToolError, UsageError
from toolwright.messages import AuthConfig, AuthCredential, AuthCredentialTypes, OAuth2Auth, Scope

__all__ = ["AuthlibFlows"]

T = TypeVar("T")
Locks = WeakValueDictionary[tuple[str, str, str], anyio.Lock]
_SIGN_IN_TYPES = ("oauth2", "openIdConnect")
_LEEWAY = 60.0
"""Seconds before its end at which a token counts as expired: a call with it takes time, too."""
_NOT_VALID_ANY_MORE = "invalid_grant"
"""OAuth2's word for a code or refresh token that is used up, expired or revoked."""
_SIGN_IN_SECONDS = 60.0
"""How long a provider and the store may take together."""
_SAVING = 0.5
"""Seconds that another process may need to save a token it has just been given."""
_SETTLING = 0.1
"""Seconds that another process may need between looking for a lease and saving its own."""
_LOOK = 0.1
"""Seconds between two looks whether another process has refreshed a token."""
_TAKEN = AuthCredential(auth_type=AuthCredentialTypes.OAUTH2)
"""Stands for a credential that another process is about to save."""


class AuthlibFlows(Sealed):
    """Signs in, refreshes and exchanges with Authlib; keeps what it gets in `store`.

    A half-finished sign-in (state, PKCE verifier) is kept there too, so it can be finished by
    another process. Fulfils `toolwright.tools.AuthFlows`.
    """

    def __init__(self, store: CredentialStore) -> None:
        self._store = store
        self._providers: dict[str, Provider] = {}
        self._locks: RunVar[Locks] = RunVar("locks")
        self._unsaved: dict[tuple[str, str, str], AuthCredential] = {}
        """Tokens that were given and that the store has not taken yet."""

    async def ready(self, scope: Scope, config: AuthConfig) -> AuthCredential | None:
        """A usable credential (given, saved, refreshed or exchanged); None if a person is needed."""
        if config.given_credential is not None:
            return config.given_credential
        async with self._alone(scope, config):
            saved = await self._saved(scope, config)
            if saved is not None and not _is_stale(saved):
                return saved
            return await self._anew(scope, config, saved)

    async def renew(
        self, scope: Scope, config: AuthConfig, refused: AuthCredential
    ) -> AuthCredential | None:
        """Another credential after `refused` got a 401; None if a person is needed."""
        if config.given_credential is not None:
            raise ToolError(
                f"The configured credential {config.credential_key!r} was refused (401); "
                "only the developer can replace it."
            )
        async with self._alone(scope, config):
            saved = await self._saved(scope, config)
            # Another call may have renewed it while this one was being refused.
            if saved is not None and saved != refused and not _is_stale(saved):
                return saved
            return await self._anew(scope, config, saved)

    async def begin(self, scope: Scope, config: AuthConfig) -> dict[str, Any]:
        """What a person must be shown: an address to sign in at, or which secret to enter."""
        shown = _shown(config)
        client = _client(config)
        if config.auth_scheme.type not in _SIGN_IN_TYPES or client is None:
            return shown
        async with self._alone(scope, config):
            flow = await self._open_flow(scope, config, client)
        return {**shown, "auth_uri": flow.auth_uri, "state": flow.state}

    async def finish(self, scope: Scope, config: AuthConfig, answer: Any) -> AuthCredential:
        """Take what the person brought back, save the credential and return it.

        Raises `UsageError` when the person can put it right by trying again, and `ToolError` when
        they cannot: they have declined, or the provider does not accept this client.
        """
        redirect = redirect_in(answer)
        async with self._alone(scope, config):
            if redirect is not None and config.auth_scheme.type in _SIGN_IN_TYPES:
                if _client(config) and await self._load_flow(scope, config):
                    await _in_time(self._provider(config))  # known then, when the code is redeemed
                return await self._to_the_end(partial(self._redeem, scope, config, redirect))
            credential = credential_in(answer, config)
            await self._keep(scope, config, credential)
            return credential

    async def _to_the_end(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Get tokens and save them, whoever is cancelled: what was given for a token or code that
        can be used once must not be lost."""
        return await _in_time(finish(work, _SIGN_IN_SECONDS))

    async def _saved(self, scope: Scope, config: AuthConfig) -> AuthCredential | None:
        place = _place(scope, config)
        if place in self._unsaved:
            await self._keep(scope, config, self._unsaved[place])
        return await self._store.load(scope, config.credential_key) or _given_tokens(config)

    async def _anew(
        self, scope: Scope, config: AuthConfig, saved: AuthCredential | None
    ) -> AuthCredential | None:
        client = _client(config)
        if saved is not None and saved.oauth2 and saved.oauth2.refresh_token and client:
            provider = await _in_time(self._provider(config))
            renew = partial(self._leased_refresh, scope, config, saved, provider)
            refreshed: AuthCredential | None = _TAKEN
            while refreshed is _TAKEN:
                while await self._is_leased(scope, config):  # noqa: ASYNC110 - by another process
                    await anyio.sleep(_LOOK)
                refreshed = await self._to_the_end(renew)
            if refreshed is not None:
                return refreshed
        # What can be asked for again is not waited for by those who are cancelled.
        tokens = await _in_time(self._exchanged(config))
        if tokens is not None:
            return await self._keep_tokens(scope, config, tokens)
        if saved is not None and saved == await self._store.load(scope, config.credential_key):
            await self._store.delete(scope, config.credential_key)
        return None

    async def _leased_refresh(
        self, scope: Scope, config: AuthConfig, saved: AuthCredential, provider: Provider
    ) -> AuthCredential | None:
        """What the refresh token gives, unless another process has got that, or is about to."""
        lease = await self._lease(scope, config)
        if lease is None:
            return _TAKEN
        try:
            newer = await self._store.load(scope, config.credential_key)
            if newer is not None and newer != saved and not _is_stale(newer):
                return cast("AuthCredential", newer)
            return await self._refreshed(scope, config, saved, provider)
        finally:
            if await self._store.load(scope, _lease_key(config)) == lease:
                await self._store.delete(scope, _lease_key(config))

    async def _lease(self, scope: Scope, config: AuthConfig) -> dict[str, Any] | None:
        """Say in the store that a refresh is under way here; None when it is elsewhere."""
        if await self._is_leased(scope, config):
            return None
        lease = {"by": secrets.token_hex(16), "until": time.time() + _SIGN_IN_SECONDS}
        await self._store.save(scope, _lease_key(config), lease)
        # Stores can save, but not compare and save: of those who came at once, the last one's stands.
        await anyio.sleep(_SETTLING)
        return lease if await self._store.load(scope, _lease_key(config)) == lease else None

    async def _is_leased(self, scope: Scope, config: AuthConfig) -> bool:
        """Whether another process, or loop, refreshes now; one that crashed does so for a minute."""
        lease = await self._store.load(scope, _lease_key(config))
        until = lease.get("until") if isinstance(lease, dict) else None
        left = until - time.time() if isinstance(until, int | float) else 0.0
        return 0 < left <= _SIGN_IN_SECONDS

    async def _refreshed(
        self, scope: Scope, config: AuthConfig, saved: AuthCredential, provider: Provider
    ) -> AuthCredential | None:
        """What the refresh token gives, saved; None when it is not valid any more."""
        client = _client(config)
        assert saved.oauth2 is not None
        assert client is not None
        try:
            tokens = await refresh(saved.oauth2, client, provider)
        except SignInRefused as error:
            if error.code != _NOT_VALID_ANY_MORE:
                raise
            # Another process may have used the refresh token up, and be saving what it got for it.
            await anyio.sleep(_SAVING)
            newer = await self._store.load(scope, config.credential_key)
            return newer if newer and newer != saved and not _is_stale(newer) else None
        return await self._keep_tokens(scope, config, tokens)

    async def _exchanged(self, config: AuthConfig) -> OAuth2Auth | None:
        raw, client = config.raw_auth_credential, _client(config)
        if raw is not None and raw.service_account is not None:
            return await exchange_service_account(raw.service_account)
        if config.auth_scheme.type in _SIGN_IN_TYPES and client is not None:
            provider = await self._provider(config)
            if provider.grant == "client_credentials":
                return await ask_for_oneself(client, provider)
        return None

    async def _open_flow(self, scope: Scope, config: AuthConfig, client: OAuth2Auth) -> OAuth2Auth:
        """The half-finished sign-in; the same one for every call that waits for this credential."""
        flow, provider = await self._load_flow(scope, config), await self._provider(config)
        wanted = (client.client_id, client.redirect_uri, " ".join(provider.scopes))
        same = flow and (flow.client_id, flow.redirect_uri, flow.scope) == wanted
        if flow and same and not is_over(flow):
            return flow
        flow = await begin_sign_in(client, provider)
        begun = AuthCredential(auth_type=AuthCredentialTypes.OAUTH2, oauth2=flow)
        await self._store.save(scope, _flow_key(config), begun)
        return flow

    async def _redeem(self, scope: Scope, config: AuthConfig, redirect: str) -> AuthCredential:
        flow, client = await self._load_flow(scope, config), _client(config)
        if flow is None or client is None:
            return await self._redeemed_before(scope, config, redirect)
        provider = await self._provider(config)
        try:
            code = code_in(redirect, flow, provider)
            # Its state and nonce are used up, however this ends; the next try begins with new ones.
            await self._store.delete(scope, _flow_key(config))
            tokens = await redeem(flow, client, provider, code)
        except SignInRefused as error:
            if error.code == _NOT_VALID_ANY_MORE:
                # Another process may have used the code up, and be saving what it got for it.
                await anyio.sleep(_SAVING)
                if (saved := await self._saved_for(scope, config, redirect)) is not None:
                    return saved
            await self._store.delete(scope, _flow_key(config))
            if error.code in (_NOT_VALID_ANY_MORE, OVER):
                raise UsageError(f"{error}. Please sign in again.") from None
            raise
        return await self._keep_tokens(scope, config, tokens)

    async def _redeemed_before(
        self, scope: Scope, config: AuthConfig, redirect: str
    ) -> AuthCredential:
        """The same address again, for a second call that waited or after a crash: that is fine."""
        saved = await self._saved_for(scope, config, redirect)
        if saved is None:
            # Another process may be exchanging its code, and save what it gets for it.
            await anyio.sleep(_SAVING)
            saved = await self._saved_for(scope, config, redirect)
        if saved is None:
            raise UsageError(
                f"No sign-in is open for {config.credential_key!r}; begin one before finishing it."
            )
        return saved

    async def _saved_for(
        self, scope: Scope, config: AuthConfig, redirect: str
    ) -> AuthCredential | None:
        """What the sign-in that this address finishes has given, once it is saved."""
        saved = await self._store.load(scope, config.credential_key)
        state = saved.oauth2.state if saved and saved.oauth2 else None
        return saved if answers_state(callback_in(redirect), state) else None

    async def _load_flow(self, scope: Scope, config: AuthConfig) -> OAuth2Auth | None:
        begun = await self._store.load(scope, _flow_key(config))
        return begun.oauth2 if begun else None

    async def _keep_tokens(
        self, scope: Scope, config: AuthConfig, tokens: OAuth2Auth
    ) -> AuthCredential:
        credential = AuthCredential(auth_type=AuthCredentialTypes.OAUTH2, oauth2=tokens)
        # Held here until it is saved: when the store refuses, the next call tries again.
        self._unsaved[_place(scope, config)] = credential
        await self._keep(scope, config, credential)
        return credential

    async def _keep(self, scope: Scope, config: AuthConfig, credential: AuthCredential) -> None:
        await self._store.save(scope, config.credential_key, credential)
        self._unsaved.pop(_place(scope, config), None)
        await self._store.delete(scope, _flow_key(config))

    async def _provider(self, config: AuthConfig) -> Provider:
        known = config.auth_scheme.model_dump_json()
        if known not in self._providers:
            self._providers[known] = await find_provider(config)
        return replace(self._providers[known], reachable=config.reachable)

    def _alone(self, scope: Scope, config: AuthConfig) -> anyio.Lock:
        """Held while a credential is looked up or changed: one refresh, however many calls wait."""
        # Per event loop: a lock cannot wake a waiter in another one. Two loops get along as two
        # processes do.
        try:
            locks = self._locks.get()
        except LookupError:
            self._locks.set(locks := WeakValueDictionary())
        return locks.setdefault(_place(scope, config), anyio.Lock())


async def _in_time(work: Awaitable[T]) -> T:
    try:
        with anyio.fail_after(_SIGN_IN_SECONDS):
            return await work
    except TimeoutError:
        raise ToolError(
            f"The sign-in server did not answer within {_SIGN_IN_SECONDS:g} s; try again later."
        ) from None


def _place(scope: Scope, config: AuthConfig) -> tuple[str, str, str]:
    return scope.app_name, scope.user_id, config.credential_key


def _flow_key(config: AuthConfig) -> str:
    return f"{config.credential_key}#sign-in"


def _lease_key(config: AuthConfig) -> str:
    return f"{config.credential_key}#refresh"


def _client(config: AuthConfig) -> OAuth2Auth | None:
    raw = config.raw_auth_credential
    return raw.oauth2 if raw and raw.oauth2 and raw.oauth2.client_id else None


def _given_tokens(config: AuthConfig) -> AuthCredential | None:
    """Tokens that the developer already had; a saved, newer one comes first."""
    for credential in (config.exchanged_auth_credential, config.raw_auth_credential):
        if credential and credential.oauth2 and credential.oauth2.access_token:
            return credential
    return None


def _is_stale(credential: AuthCredential) -> bool:
    tokens = credential.oauth2
    return bool(tokens and tokens.expires_at and tokens.expires_at - _LEEWAY < time.time())


def _shown(config: AuthConfig) -> dict[str, Any]:
    """What may be shown of a configuration: how to sign in, never a secret."""
    scheme = config.auth_scheme
    shown = {"credential_key": config.credential_key, "type": scheme.type}
    fields = scheme.model_dump(
        by_alias=True, exclude_none=True, include={"location", "name", "scheme"}
    )
    return shown | fields
