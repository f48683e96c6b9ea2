"""A refresh token is sent once, however many processes share the store and however long it takes."""

import asyncio
import time
from pathlib import Path
from typing import Any

import anyio
import pytest

from toolwright.backends import AuthlibFlows, CredentialStore, MemoryCredentials, SqliteCredentials
from toolwright.backends.auth import SignInRefused, _flows, new_key
from toolwright.messages import (
    AuthConfig,
    AuthCredential,
    AuthCredentialTypes,
    CustomAuthScheme,
    OAuth2Auth,
    OAuth2Flows,
    Scope,
)

pytestmark = pytest.mark.anyio
ADA = Scope(app_name="app", user_id="ada", session_id="s1")
LEASE = "k#refresh"
CONFIG = AuthConfig(
    auth_scheme=CustomAuthScheme(
        type="oauth2",
        flows=OAuth2Flows(
            authorization_url="http://127.0.0.1:9/a", token_url="http://127.0.0.1:9/t"
        ),
    ),
    raw_auth_credential=AuthCredential(
        auth_type=AuthCredentialTypes.OAUTH2, oauth2=OAuth2Auth(client_id="c", client_secret="s")
    ),
    credential_key="k",
)


def credential(number: int, expires_at: float) -> AuthCredential:
    tokens = OAuth2Auth(
        access_token=f"token-{number}", refresh_token=f"refresh-{number}", expires_at=expires_at
    )
    return AuthCredential(auth_type=AuthCredentialTypes.OAUTH2, oauth2=tokens)


class SlowProvider:
    """Takes each refresh token once, and answers when it is told to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.sent: list[str] = []
        self.asked, self.go_on = anyio.Event(), anyio.Event()
        monkeypatch.setattr(_flows, "refresh", self._refresh)

    async def _refresh(self, saved: OAuth2Auth, *_: Any) -> OAuth2Auth:
        self.sent.append(saved.refresh_token or "")
        self.asked.set()
        await self.go_on.wait()
        if len(self.sent) > 1:
            raise SignInRefused("used up", code="invalid_grant")
        return credential(2, time.time() + 3600).oauth2 or saved


@pytest.fixture(params=["memory", "sqlite"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> CredentialStore:
    made: CredentialStore = MemoryCredentials()
    if request.param == "sqlite":
        made = SqliteCredentials(tmp_path / "c.db", keys=[new_key()])
    await made.save(ADA, "k", credential(1, 1))
    return made


@pytest.mark.parametrize("begun", ["at once", "while the other waits for its answer"])
async def test_two_processes_send_a_refresh_token_once(
    begun: str, store: CredentialStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider = SlowProvider(monkeypatch)
    with anyio.fail_after(20):
        tasks = [asyncio.create_task(AuthlibFlows(store).ready(ADA, CONFIG))]
        if begun != "at once":
            await provider.asked.wait()
        tasks.append(asyncio.create_task(AuthlibFlows(store).ready(ADA, CONFIG)))
        await provider.asked.wait()
        # As long as a provider that takes longer than another process waits for it to be saved.
        done, _ = await asyncio.wait(tasks, timeout=3 * _flows._LOOK)
        assert not done
        provider.go_on.set()
        found = await asyncio.gather(*tasks)
    assert [one and one.bearer_token for one in found] == ["token-2"] * 2
    assert provider.sent == ["refresh-1"]
    assert await store.load(ADA, LEASE) is None


@pytest.mark.parametrize("left", [-1, 10_000, "soon", None], ids=str)
async def test_a_lease_that_is_over_or_none_keeps_nobody_waiting(
    left: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = MemoryCredentials()
    await store.save(ADA, "k", credential(1, 1))
    until = time.time() + left if isinstance(left, int) else left
    await store.save(ADA, LEASE, {"by": "another", "until": until})
    provider = SlowProvider(monkeypatch)
    provider.go_on.set()
    with anyio.fail_after(5):
        found = await AuthlibFlows(store).ready(ADA, CONFIG)
    assert found is not None
    assert found.bearer_token == "token-2"


async def test_a_refresh_that_is_refused_leaves_no_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    store = MemoryCredentials()
    await store.save(ADA, "k", credential(1, 1))
    monkeypatch.setattr(_flows, "_SAVING", 0)
    provider = SlowProvider(monkeypatch)
    provider.go_on.set()
    provider.sent.append("by somebody")
    assert await AuthlibFlows(store).ready(ADA, CONFIG) is None
    assert await store.load(ADA, LEASE) is None
