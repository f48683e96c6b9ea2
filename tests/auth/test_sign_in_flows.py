"""Signing in, refreshing and exchanging, against a real provider."""

import asyncio
import json
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

import anyio
import httpx2
import pytest
from tests._oauth import Provider
from tests._oauth_provider import REDIRECT

from toolwright.backends import (
    AuthlibFlows,
    MemoryCredentials,
    SignInRefused,
    openid_url_to_scheme_credential,
    service_account_dict_to_scheme_credential,
    service_account_scheme_credential,
    token_to_scheme_credential,
)
from toolwright.backends.auth import _flows
from toolwright.backends.auth._oauth import tokens_from
from toolwright.backends.auth._provider import find_provider
from toolwright.errors import StoreError, ToolError, UsageError
from toolwright.messages import (
    AuthConfig,
    AuthCredential,
    AuthToolArguments,
    CustomAuthScheme,
    OAuth2Auth,
    OAuth2Flows,
    OpenIdConnectWithConfig,
    Scope,
    ServiceAccount,
)

pytestmark = pytest.mark.anyio

ADA = Scope(app_name="app", user_id="ada", session_id="s1")
BOB = Scope(app_name="app", user_id="bob", session_id="s2")


@pytest.fixture
def store() -> MemoryCredentials:
    return MemoryCredentials()


@pytest.fixture
def flows(store: MemoryCredentials) -> AuthlibFlows:
    return AuthlibFlows(store)


async def signed_in(flows: AuthlibFlows, provider: Provider, config: AuthConfig) -> AuthCredential:
    shown = await flows.begin(ADA, config)
    return await flows.finish(ADA, config, provider.sign_in(shown["auth_uri"]))


async def calendar(provider: Provider, credential: AuthCredential | None) -> int:
    assert credential is not None
    async with httpx2.AsyncClient() as client:
        headers = {"Authorization": f"Bearer {credential.bearer_token}"}
        answer = await client.get(f"{provider.address}/calendar", headers=headers)
    return answer.status_code


@pytest.mark.parametrize("discover", [True, False])
async def test_a_user_signs_in_with_pkce_and_the_token_opens_the_calendar(
    flows: AuthlibFlows, provider: Provider, discover: bool
) -> None:
    config = provider.oidc(discover=discover)
    assert await flows.ready(ADA, config) is None

    credential = await signed_in(flows, provider, config)

    assert await calendar(provider, credential) == 200
    assert credential.oauth2 is not None
    assert credential.oauth2.id_token
    assert await flows.ready(ADA, config) == credential


async def test_what_a_person_is_shown_has_no_secret(
    flows: AuthlibFlows, provider: Provider
) -> None:
    config = provider.oidc()
    shown = await flows.begin(ADA, config)

    assert set(shown) == {"credential_key", "type", "auth_uri", "state"}
    assert "code_challenge=" in shown["auth_uri"]
    assert "client-secret" not in json.dumps(shown)


async def test_a_credential_belongs_to_one_user_of_one_app(
    flows: AuthlibFlows, provider: Provider
) -> None:
    config = provider.oidc()
    await signed_in(flows, provider, config)

    assert await flows.ready(BOB, config) is None
    other_app = Scope(app_name="other", user_id="ada", session_id="s1")
    assert await flows.ready(other_app, config) is None


async def test_a_sign_in_can_be_finished_by_another_process(
    store: MemoryCredentials, provider: Provider
) -> None:
    config = provider.oidc()
    shown = await AuthlibFlows(store).begin(ADA, config)

    credential = await AuthlibFlows(store).finish(ADA, config, provider.sign_in(shown["auth_uri"]))

    assert await calendar(provider, credential) == 200


@pytest.mark.parametrize("saved", ["before the refusal", "after it"])
async def test_a_sign_in_that_two_processes_finish_at_once_is_finished_for_both(
    provider: Provider, saved: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, config = SlowStore(), provider.oidc()
    here, there = AuthlibFlows(store), AuthlibFlows(store)
    shown = await here.begin(ADA, config)
    address = provider.sign_in(shown["auth_uri"])
    redeem, redeeming, found = _flows.redeem, list[bool](), list[Any]()
    used_up, finished = anyio.Event(), anyio.Event()

    async def one_after_the_other(*given: Any) -> Any:
        """The second has read the open sign-in as well, and comes when the code is used up."""
        redeeming.append(True)
        if len(redeeming) > 1:
            await used_up.wait()
        tokens = await redeem(*given)
        if saved == "after it":
            used_up.set()
        return tokens

    async def pause(seconds: float) -> None:
        store.go_on.set()
        await finished.wait()

    async def finish(flows: AuthlibFlows) -> None:
        found.append(await flows.finish(ADA, config, address))
        finished.set()
        used_up.set()

    monkeypatch.setattr(_flows, "redeem", one_after_the_other)
    monkeypatch.setattr(
        _flows, "anyio", SimpleNamespace(sleep=pause, Lock=anyio.Lock, fail_after=anyio.fail_after)
    )
    if saved == "after it":
        store.go_on = anyio.Event()
    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            group.start_soon(finish, here)
            group.start_soon(finish, there)
    assert found[0] == found[1]
    assert await calendar(provider, found[0]) == 200


async def test_calls_that_wait_for_one_credential_share_one_sign_in(
    flows: AuthlibFlows, provider: Provider
) -> None:
    config = provider.oidc()
    first, second = await flows.begin(ADA, config), await flows.begin(ADA, config)
    assert first == second

    address = provider.sign_in(first["auth_uri"])
    credential = await flows.finish(ADA, config, address)

    assert await flows.finish(ADA, config, address) == credential
    assert provider.admin()["grants"] == ["authorization_code"]


async def test_a_sign_in_for_other_scopes_is_another_one(
    flows: AuthlibFlows, provider: Provider
) -> None:
    config = provider.oidc()
    first = await flows.begin(ADA, config)
    assert isinstance(config.auth_scheme, OpenIdConnectWithConfig)
    config.auth_scheme.scopes.append("profile")

    second = await flows.begin(ADA, config)

    assert first["state"] != second["state"]
    assert "profile" in second["auth_uri"]


async def test_another_state_is_refused_and_the_sign_in_stays_open(
    flows: AuthlibFlows, provider: Provider
) -> None:
    config = provider.oidc()
    shown = await flows.begin(ADA, config)
    address = provider.sign_in(shown["auth_uri"])

    with pytest.raises(UsageError, match="does not belong to the open request"):
        await flows.finish(ADA, config, address.replace("state=", "state=x"))

    assert await flows.finish(ADA, config, address)


async def test_an_answer_without_an_open_sign_in_is_refused(
    flows: AuthlibFlows, provider: Provider
) -> None:
    with pytest.raises(UsageError, match="No sign-in is open"):
        await flows.finish(ADA, provider.oidc(), f"{REDIRECT}?code=abc&state=xyz")


async def test_a_person_who_declines_is_told_apart_from_a_mistake(
    flows: AuthlibFlows, provider: Provider
) -> None:
    config = provider.oidc(authorization_params={"login_hint": "nobody"})
    shown = await flows.begin(ADA, config)

    with pytest.raises(SignInRefused, match="refused") as caught:
        await flows.finish(ADA, config, provider.sign_in(shown["auth_uri"]))

    assert caught.value.code == "access_denied"


async def test_a_code_alone_is_worth_nothing_without_the_verifier(
    flows: AuthlibFlows, store: MemoryCredentials, provider: Provider
) -> None:
    config = provider.oidc()
    shown = await flows.begin(ADA, config)
    address = provider.sign_in(shown["auth_uri"])
    begun = await store.load(ADA, "calendar#sign-in")
    begun.oauth2.code_verifier = "b" * 64
    await store.save(ADA, "calendar#sign-in", begun)

    with pytest.raises(UsageError, match="Code challenge failed"):
        await flows.finish(ADA, config, address)


async def test_an_id_token_of_another_sign_in_is_refused(
    flows: AuthlibFlows, store: MemoryCredentials, provider: Provider
) -> None:
    config = provider.oidc()
    shown = await flows.begin(ADA, config)
    address = provider.sign_in(shown["auth_uri"])
    begun = await store.load(ADA, "calendar#sign-in")
    begun.oauth2.nonce = "another-nonce"
    await store.save(ADA, "calendar#sign-in", begun)

    with pytest.raises(SignInRefused, match="ID token is not valid"):
        await flows.finish(ADA, config, address)

    assert await flows.ready(ADA, config) is None


async def test_a_token_is_refreshed_before_it_expires_and_rotates(
    flows: AuthlibFlows, provider: Provider
) -> None:
    provider.admin(lifetime=30)
    config = provider.oidc()
    old = await signed_in(flows, provider, config)
    provider.admin(lifetime=3600)

    new = await flows.ready(ADA, config)

    assert await calendar(provider, new) == 200
    assert new is not None
    assert new.oauth2 is not None
    assert old.oauth2 is not None
    assert new.oauth2.refresh_token != old.oauth2.refresh_token
    assert provider.admin()["grants"] == ["authorization_code", "refresh_token"]


async def test_many_calls_at_once_refresh_once(flows: AuthlibFlows, provider: Provider) -> None:
    provider.admin(lifetime=30)
    config = provider.oidc()
    await signed_in(flows, provider, config)
    provider.admin(lifetime=3600)
    found: list[Any] = []

    async def use() -> None:
        found.append(await flows.ready(ADA, config))

    async with anyio.create_task_group() as group:
        for _ in range(20):
            group.start_soon(use)

    assert provider.admin()["grants"].count("refresh_token") == 1
    assert {credential.bearer_token for credential in found} == {found[0].bearer_token}


def test_threads_with_event_loops_of_their_own_do_not_wait_for_each_other(
    provider: Provider, store: MemoryCredentials
) -> None:
    provider.admin(lifetime=30)
    config, flows = provider.oidc(), AuthlibFlows(store)
    anyio.run(signed_in, flows, provider, config)
    provider.admin(lifetime=3600)

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: anyio.run(flows.ready, ADA, config), range(4), timeout=30))

    assert all(credential is not None for credential in found)


async def test_a_refresh_token_that_another_process_used_up_is_no_harm(
    store: MemoryCredentials, provider: Provider
) -> None:
    provider.admin(lifetime=30)
    config = provider.oidc()
    here, there = AuthlibFlows(store), AuthlibFlows(store)
    await signed_in(here, provider, config)
    provider.admin(lifetime=3600)

    found: list[Any] = []

    async def use(flows: AuthlibFlows) -> None:
        found.append(await flows.ready(ADA, config))

    async with anyio.create_task_group() as group:
        group.start_soon(use, here)
        group.start_soon(use, there)

    assert [await calendar(provider, credential) for credential in found] == [200, 200]


class SlowStore(MemoryCredentials):
    """Saves when it is let, or refuses."""

    def __init__(self) -> None:
        super().__init__()
        self.saving, self.go_on, self.refuse = anyio.Event(), anyio.Event(), False
        self.go_on.set()

    async def save(self, scope: Scope, key: str, credential: Any) -> None:
        if not key.endswith("#refresh"):  # A lease, which is there before anything is sent.
            self.saving.set()
            await self.go_on.wait()
            if self.refuse:
                raise StoreError("the disk is full")
        await super().save(scope, key, credential)


@pytest.mark.parametrize("way", ["scope", "task"])
async def test_a_rotated_refresh_token_is_saved_although_its_caller_was_cancelled(
    provider: Provider, way: str
) -> None:
    provider.admin(lifetime=30)
    store = SlowStore()
    flows, config = AuthlibFlows(store), provider.oidc()
    first = await signed_in(flows, provider, config)
    provider.admin(lifetime=3600)
    store.saving, store.go_on = anyio.Event(), anyio.Event()
    found: list[AuthCredential | None] = []

    async def patient() -> None:
        found.append(await flows.ready(ADA, config))

    async def impatient() -> None:
        with scope:
            await flows.ready(ADA, config)

    with anyio.fail_after(20):
        scope, cancelled = anyio.CancelScope(), asyncio.create_task(impatient())
        await store.saving.wait()
        if way == "scope":
            scope.cancel()
        else:
            cancelled.cancel()
        async with anyio.create_task_group() as group:
            group.start_soon(patient)
            store.go_on.set()
        await asyncio.wait([cancelled])
    [kept] = found
    assert kept is not None
    assert kept != first
    assert provider.admin()["grants"].count("refresh_token") == 1
    assert await AuthlibFlows(store).ready(ADA, config) == kept


async def test_a_rotated_refresh_token_survives_a_store_that_refuses_for_a_while(
    provider: Provider,
) -> None:
    provider.admin(lifetime=30)
    store = SlowStore()
    flows, config = AuthlibFlows(store), provider.oidc()
    await signed_in(flows, provider, config)
    provider.admin(lifetime=3600)
    store.refuse = True
    for _ in range(2):
        with pytest.raises(StoreError, match="disk is full"):
            await flows.ready(ADA, config)
    store.refuse = False
    kept = await flows.ready(ADA, config)
    assert kept is not None
    assert await calendar(provider, kept) == 200
    assert await AuthlibFlows(store).ready(ADA, config) == kept


async def test_a_revoked_token_is_renewed(flows: AuthlibFlows, provider: Provider) -> None:
    config = provider.oidc()
    old = await signed_in(flows, provider, config)
    provider.admin(revoke_access=True)
    assert await calendar(provider, old) == 401

    assert await calendar(provider, await flows.renew(ADA, config, old)) == 200


async def test_when_refreshing_is_refused_the_user_must_sign_in_again(
    flows: AuthlibFlows, provider: Provider
) -> None:
    config = provider.oidc()
    old = await signed_in(flows, provider, config)
    provider.admin(revoke_access=True, revoke_refresh=True)

    assert await flows.renew(ADA, config, old) is None
    assert await flows.ready(ADA, config) is None
    assert await calendar(provider, await signed_in(flows, provider, config)) == 200


async def test_a_client_that_the_provider_does_not_know_is_no_matter_for_the_user(
    flows: AuthlibFlows, provider: Provider
) -> None:
    provider.admin(lifetime=30)
    config = provider.oidc()
    shown = await flows.begin(ADA, config)
    wrong = provider.oidc(client_secret="wrong-secret-canary")
    with pytest.raises(SignInRefused, match="invalid_client") as caught:
        await flows.finish(ADA, wrong, provider.sign_in(shown["auth_uri"]))
    assert "canary" not in str(caught.value)

    await signed_in(flows, provider, config)
    with pytest.raises(SignInRefused, match="invalid_client"):
        await flows.ready(ADA, wrong)


async def test_a_program_gets_a_token_for_itself_and_keeps_it(
    flows: AuthlibFlows, provider: Provider
) -> None:
    config = provider.client_credentials()

    first = await flows.ready(ADA, config)

    assert await calendar(provider, first) == 200
    assert await flows.ready(ADA, config) == first
    assert provider.admin()["grants"] == ["client_credentials"]


async def test_a_service_account_exchanges_its_key_for_a_token(
    flows: AuthlibFlows, provider: Provider
) -> None:
    scheme, raw = service_account_dict_to_scheme_credential(
        config=provider.account_key(), scopes=["https://example.com/auth/cloud"]
    )
    config = AuthConfig(auth_scheme=scheme, raw_auth_credential=raw)

    assert await calendar(provider, await flows.ready(ADA, config)) == 200
    assert provider.admin()["grants"] == ["urn:ietf:params:oauth:grant-type:jwt-bearer"]


async def test_the_machines_default_account_is_used(
    flows: AuthlibFlows, provider: Provider, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    key_file = tmp_path / "account.json"
    key_file.write_text(json.dumps(provider.account_key()))
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(key_file))
    account = ServiceAccount(use_default_credential=True, scopes=["read"])
    scheme, raw = service_account_scheme_credential(account)

    found = await flows.ready(ADA, AuthConfig(auth_scheme=scheme, raw_auth_credential=raw))

    assert await calendar(provider, found) == 200


@pytest.mark.row("004-O7")
async def test_a_discovery_address_is_all_it_takes(flows: AuthlibFlows, provider: Provider) -> None:
    scheme, raw = openid_url_to_scheme_credential(
        openid_url=f"{provider.address}/.well-known/openid-configuration",
        scopes=["openid", "email", "profile"],
        credential_dict={
            "web": {
                "client_id": "calendar-app",
                "client_secret": "client-secret-canary-7c1f",
                "redirect_uris": [REDIRECT],
            }
        },
    )
    config = AuthConfig(auth_scheme=scheme, raw_auth_credential=raw)

    assert await calendar(provider, await signed_in(flows, provider, config)) == 200


async def test_a_public_client_needs_no_secret(flows: AuthlibFlows, provider: Provider) -> None:
    scheme, raw = openid_url_to_scheme_credential(
        openid_url=f"{provider.address}/.well-known/openid-configuration",
        scopes=["openid"],
        credential_dict={"client_id": "public-app", "redirect_uri": REDIRECT},
    )
    config = AuthConfig(auth_scheme=scheme, raw_auth_credential=raw)

    assert await calendar(provider, await signed_in(flows, provider, config)) == 200


async def test_the_parts_of_the_address_are_as_good_as_the_address(
    flows: AuthlibFlows, provider: Provider
) -> None:
    config = provider.oidc()
    shown = await flows.begin(ADA, config)
    query = parse_qs(urlsplit(provider.sign_in(shown["auth_uri"])).query)

    parts = {name: values[0] for name, values in query.items()}

    assert await calendar(provider, await flows.finish(ADA, config, parts)) == 200


@pytest.mark.parametrize(
    "make",
    [
        lambda: openid_url_to_scheme_credential("https://a.example", [], {"client_secret": "x"}),
        lambda: token_to_scheme_credential("apikey", None, "X-API-Key", "canary"),
        lambda: token_to_scheme_credential("apikey", "header", "", "canary"),
        lambda: token_to_scheme_credential("basic", "header", "x", "canary"),  # type: ignore[arg-type]
    ],
)
def test_a_pair_that_cannot_work_is_refused_at_once(make: Any) -> None:
    with pytest.raises(UsageError) as caught:
        make()
    assert "canary" not in str(caught.value)


async def test_a_broken_private_key_is_the_developers_and_is_not_shown(
    flows: AuthlibFlows, provider: Provider
) -> None:
    key = {**provider.account_key(), "private_key": "-----BEGIN canary-----"}
    scheme, raw = service_account_dict_to_scheme_credential(key, ["read"])
    with pytest.raises(UsageError, match="not an RSA key") as caught:
        await flows.ready(ADA, AuthConfig(auth_scheme=scheme, raw_auth_credential=raw))
    assert "canary" not in str(caught.value)


async def test_two_clients_never_share_a_token_by_accident(provider: Provider) -> None:
    one = provider.client_credentials()
    assert one.raw_auth_credential is not None
    other_raw = one.raw_auth_credential.model_copy(deep=True)
    assert other_raw.oauth2 is not None
    other_raw.oauth2.client_id = "another-app"

    other = AuthConfig(auth_scheme=one.auth_scheme, raw_auth_credential=other_raw)

    assert one.credential_key != other.credential_key


@pytest.mark.parametrize(
    ("scheme", "answer", "field"),
    [
        ({"type": "apiKey", "in": "header", "name": "X-API-Key"}, "k-123", "k-123"),
        ({"type": "apiKey", "in": "header", "name": "X-API-Key"}, {"api_key": "k-123"}, "k-123"),
        ({"type": "http", "scheme": "bearer"}, "k-123", "k-123"),
        ({"type": "http", "scheme": "bearer"}, {"token": "k-123"}, "k-123"),
        ({"type": "http", "scheme": "basic"}, {"username": "ada", "password": "pw"}, "pw"),
        ({"type": "http", "scheme": "basic"}, "ada:pw", "pw"),
    ],
)
async def test_a_secret_that_a_person_enters_is_kept(
    flows: AuthlibFlows, scheme: dict[str, Any], answer: Any, field: str
) -> None:
    config = AuthConfig(auth_scheme=CustomAuthScheme(**scheme), credential_key="shop")
    assert await flows.ready(ADA, config) is None
    assert (await flows.begin(ADA, config))["type"] == scheme["type"]

    await flows.finish(ADA, config, answer)

    found = await flows.ready(ADA, config)
    assert found is not None
    http = found.http.credentials if found.http else None
    assert field in (found.api_key, http and http.token, http and http.password)


async def test_an_answer_may_be_a_whole_configuration(
    flows: AuthlibFlows, provider: Provider
) -> None:
    config = provider.oidc()
    token = AuthCredential.model_validate(
        {"auth_type": "oauth2", "oauth2": {"access_token": "from-elsewhere"}}
    )
    full = config.model_copy(update={"exchanged_auth_credential": token})

    await flows.finish(ADA, config, AuthToolArguments(function_call_id="c1", auth_config=full))

    assert await flows.ready(ADA, config) == token


@pytest.mark.parametrize("answer", ["", None, 7, {}, {"api_key": ["canary"]}, ["canary"]])
async def test_an_answer_that_is_no_credential_is_refused_without_being_shown(
    flows: AuthlibFlows, answer: Any
) -> None:
    scheme, _ = token_to_scheme_credential("apikey", "header", "X-API-Key")
    config = AuthConfig(auth_scheme=scheme, credential_key="shop")

    with pytest.raises(UsageError, match="wanted: the key as text") as caught:
        await flows.finish(ADA, config, answer)

    assert "canary" not in str(caught.value)


async def test_a_given_key_that_is_refused_is_the_developers_to_replace(
    flows: AuthlibFlows,
) -> None:
    scheme, raw = token_to_scheme_credential("apikey", "query", "key", "wrong")
    config = AuthConfig(auth_scheme=scheme, raw_auth_credential=raw)
    given = await flows.ready(ADA, config)
    assert given is not None

    with pytest.raises(ToolError, match="only the developer"):
        await flows.renew(ADA, config, given)


async def test_tokens_never_travel_unprotected(flows: AuthlibFlows) -> None:
    flow = OAuth2Flows(token_url="http://idp.example.com/token", grant="client_credentials")
    raw = AuthCredential.model_validate({"auth_type": "oauth2", "oauth2": {"client_id": "a"}})
    scheme = CustomAuthScheme(type="oauth2", flows=flow)

    with pytest.raises(UsageError, match="use its https:// address"):
        await flows.ready(ADA, AuthConfig(auth_scheme=scheme, raw_auth_credential=raw))


async def test_a_provider_that_is_away_is_the_operators_matter(
    flows: AuthlibFlows, free_tcp_port: int
) -> None:
    scheme, raw = openid_url_to_scheme_credential(
        f"http://127.0.0.1:{free_tcp_port}/.well-known/openid-configuration",
        ["openid"],
        {"client_id": "a", "client_secret": "b"},
    )
    with pytest.raises(StoreError, match="could not be asked"):
        await flows.begin(ADA, AuthConfig(auth_scheme=scheme, raw_auth_credential=raw))


async def test_a_document_that_speaks_for_another_issuer_is_refused(
    flows: AuthlibFlows, provider: Provider
) -> None:
    scheme, raw = openid_url_to_scheme_credential(
        f"{provider.address}/impostor/.well-known/openid-configuration",
        ["openid"],
        {"client_id": "a", "client_secret": "b"},
    )
    with pytest.raises(ToolError, match="no discovery document of its own provider"):
        await flows.begin(ADA, AuthConfig(auth_scheme=scheme, raw_auth_credential=raw))


def test_openapi_flows_are_read_as_openapi_writes_them() -> None:
    flows = OAuth2Flows.model_validate(
        {"clientCredentials": {"tokenUrl": "https://a.example/token", "scopes": {"r": "read"}}}
    )
    assert (flows.grant, flows.token_url) == ("client_credentials", "https://a.example/token")


def test_a_scheme_without_any_address_is_refused() -> None:
    with pytest.raises(ValueError, match="needs its endpoints"):
        OpenIdConnectWithConfig(scopes=["openid"])


def plain(provider: Provider) -> AuthConfig:
    """The same client, without OpenID Connect."""
    found = provider.oidc(discover=False)
    endpoints = found.auth_scheme.model_dump()
    oauth = OAuth2Flows(
        authorization_url=endpoints["authorization_endpoint"],
        token_url=endpoints["token_endpoint"],
        scopes={"calendar": ""},
    )
    scheme = CustomAuthScheme(type="oauth2", flows=oauth)
    return AuthConfig(auth_scheme=scheme, raw_auth_credential=found.raw_auth_credential)


def came_from(address: str, iss: str | None) -> str:
    """The address that a provider, or another one, sends the browser back to."""
    parts = urlsplit(address)
    query = [pair for pair in parse_qsl(parts.query) if pair[0] != "iss"]
    named = [("iss", iss)] if iss is not None else []
    return parts._replace(query=urlencode([*query, *named])).geturl()


@pytest.mark.parametrize("kind", ["openid", "flows", "flows with an issuer"])
async def test_the_answer_of_another_provider_is_refused_in_every_flow(
    flows: AuthlibFlows, provider: Provider, kind: str
) -> None:
    config = provider.oidc() if kind == "openid" else plain(provider)
    if kind == "flows with an issuer":
        known: dict[str, Any] = {**config.auth_scheme.model_dump(), "issuer": provider.address}
        config = config.model_copy(update={"auth_scheme": CustomAuthScheme(**known)})
    shown = await flows.begin(ADA, config)
    back = provider.sign_in(shown["auth_uri"])
    for iss in ("https://good.example", f"{provider.address}.evil.example", "", "null"):
        with pytest.raises(UsageError, match="The answer came from"):
            await flows.finish(ADA, config, came_from(back, iss))
    # Nothing was redeemed: the real answer still works.
    assert (await flows.finish(ADA, config, came_from(back, provider.address))).oauth2


async def test_a_provider_that_always_names_itself_has_to(
    flows: AuthlibFlows, provider: Provider
) -> None:
    config = plain(provider)
    known: dict[str, Any] = {
        **config.auth_scheme.model_dump(),
        "issuer": provider.address,
        "authorization_response_iss_parameter_supported": True,
    }
    config = config.model_copy(update={"auth_scheme": CustomAuthScheme(**known)})
    back = provider.sign_in((await flows.begin(ADA, config))["auth_uri"])
    with pytest.raises(UsageError, match="does not say that it is from"):
        await flows.finish(ADA, config, came_from(back, None))


async def test_a_sign_in_that_was_begun_long_ago_is_begun_anew(
    flows: AuthlibFlows, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = provider.oidc()
    old = await flows.begin(ADA, config)
    back = provider.sign_in(old["auth_uri"])
    later = time.time() + 3601
    with monkeypatch.context() as patched:
        patched.setattr("toolwright.backends.auth._oauth.time.time", lambda: later)
        with pytest.raises(UsageError, match=r"begun too long ago\. Please sign in again"):
            await flows.finish(ADA, config, back)
        new = await flows.begin(ADA, config)
    assert new["state"] != old["state"]
    with pytest.raises(UsageError, match="its state differs"):
        await flows.finish(ADA, config, back)


async def test_openid_without_an_id_token_is_refused(
    flows: AuthlibFlows, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    def without(token: dict[str, Any]) -> OAuth2Auth:
        return tokens_from({k: v for k, v in token.items() if k != "id_token"})

    config = provider.oidc()
    back = provider.sign_in((await flows.begin(ADA, config))["auth_uri"])
    monkeypatch.setattr("toolwright.backends.auth._oauth.tokens_from", without)
    with pytest.raises(ToolError, match="gave no ID token"):
        await flows.finish(ADA, config, back)
    assert await flows.ready(ADA, config) is None


@pytest.mark.parametrize(
    ("scopes", "discover"),
    [
        *[
            (scopes, discover)
            for scopes in (["openid email"], [" email\topenid "], ["OpenID"], ["email"], [])
            for discover in (True, False)
        ],
        ("email", True),
        (None, True),
    ],
)
async def test_openid_connect_asks_who_signs_in_whatever_the_scopes(
    flows: AuthlibFlows,
    provider: Provider,
    monkeypatch: pytest.MonkeyPatch,
    scopes: Any,
    discover: bool,
) -> None:
    def without(token: dict[str, Any]) -> OAuth2Auth:
        return tokens_from({k: v for k, v in token.items() if k != "id_token"})

    known = provider.oidc(discover=discover)
    fields = {**known.auth_scheme.model_dump(by_alias=True), "scopes": scopes}
    kind = OpenIdConnectWithConfig if isinstance(scopes, list) else CustomAuthScheme
    config = known.model_copy(update={"auth_scheme": kind(**fields)})
    shown = await flows.begin(ADA, config)
    [asked] = parse_qs(urlsplit(shown["auth_uri"]).query)["scope"]
    assert asked.split(" ").count("openid") == 1
    assert {*" ".join(scopes if isinstance(scopes, list) else [scopes or ""]).split()} <= {
        *asked.split(" ")
    }
    monkeypatch.setattr("toolwright.backends.auth._oauth.tokens_from", without)
    with pytest.raises(ToolError, match="gave no ID token"):
        await flows.finish(ADA, config, provider.sign_in(shown["auth_uri"]))


async def test_a_program_that_asks_for_itself_is_asked_for_no_openid(provider: Provider) -> None:
    config = provider.oidc()
    changed = {"grant_types_supported": ["client_credentials"], "scopes": ["read write"]}
    scheme = config.auth_scheme.model_copy(update=changed)
    found = await find_provider(config.model_copy(update={"auth_scheme": scheme}))
    assert found.scopes == ("read", "write")


@pytest.mark.parametrize(
    "failure",
    [RecursionError(), TypeError("garbage"), StoreError("unreachable"), ToolError("refused")],
    ids=lambda failure: type(failure).__name__,
)
async def test_a_state_is_used_up_however_its_first_code_ended(
    flows: AuthlibFlows, provider: Provider, monkeypatch: pytest.MonkeyPatch, failure: Exception
) -> None:
    def fails(token: dict[str, Any]) -> OAuth2Auth:
        raise failure

    config = provider.oidc()
    shown = await flows.begin(ADA, config)
    first = provider.sign_in(shown["auth_uri"])
    other = first.replace("code=", "code=another-")
    assert other != first
    with monkeypatch.context() as patched:
        patched.setattr("toolwright.backends.auth._oauth.tokens_from", fails)
        with pytest.raises(type(failure)):
            await flows.finish(ADA, config, first)
    monkeypatch.setattr("toolwright.backends.auth._flows._SAVING", 0)
    for again in (other, first):
        with pytest.raises(UsageError, match="No sign-in is open"):
            await flows.finish(ADA, config, again)
    assert (await flows.begin(ADA, config))["state"] != shown["state"]


async def test_an_address_that_another_process_is_redeeming_gives_what_that_one_saves(
    store: MemoryCredentials, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = provider.oidc()
    back = provider.sign_in((await AuthlibFlows(store).begin(ADA, config))["auth_uri"])
    redeemed = await AuthlibFlows(store).finish(ADA, config, back)
    await store.delete(ADA, config.credential_key)

    async def it_saves(seconds: float) -> None:
        await store.save(ADA, config.credential_key, redeemed)

    monkeypatch.setattr(
        _flows,
        "anyio",
        SimpleNamespace(sleep=it_saves, Lock=anyio.Lock, fail_after=anyio.fail_after),
    )
    assert await AuthlibFlows(store).finish(ADA, config, back) == redeemed
