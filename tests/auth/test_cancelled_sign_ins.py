"""A sign-in server that hangs holds nobody who is cancelled, unless something that works once is sent."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests._oauth import Provider

from toolwright.backends import (
    AuthlibFlows,
    MemoryCredentials,
    service_account_dict_to_scheme_credential,
    service_account_scheme_credential,
)
from toolwright.backends.auth import _flows
from toolwright.errors import ToolError
from toolwright.messages import (
    AuthConfig,
    AuthCredential,
    AuthCredentialTypes,
    CustomAuthScheme,
    OAuth2Auth,
    OAuth2Flows,
    OpenIdConnectWithConfig,
    Scope,
    ServiceAccount,
)

pytestmark = pytest.mark.anyio
ADA = Scope(app_name="app", user_id="ada", session_id="s1")


@dataclass
class Hanging:
    """A server that takes requests and answers none."""

    address: str
    asked: asyncio.Event


@pytest.fixture
async def hanging() -> AsyncIterator[Hanging]:
    asked, over = asyncio.Event(), asyncio.Event()

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        asked.set()
        await over.wait()
        writer.close()

    server = await asyncio.start_server(take, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    yield Hanging(f"http://127.0.0.1:{port}", asked)
    over.set()
    server.close()
    await server.wait_closed()


CLIENT = AuthCredential(
    auth_type=AuthCredentialTypes.OAUTH2,
    oauth2=OAuth2Auth(client_id="c", client_secret="client-secret-1"),
)


def client_credentials(at: str, key: dict[str, Any], folder: Path) -> AuthConfig:
    flows = OAuth2Flows(token_url=f"{at}/token", grant="client_credentials")
    scheme = CustomAuthScheme(type="oauth2", flows=flows)
    return AuthConfig(auth_scheme=scheme, raw_auth_credential=CLIENT)


def discovery(at: str, key: dict[str, Any], folder: Path) -> AuthConfig:
    scheme = OpenIdConnectWithConfig(open_id_connect_url=f"{at}/.well-known/openid-configuration")
    return AuthConfig(auth_scheme=scheme, raw_auth_credential=CLIENT)


def service_account(at: str, key: dict[str, Any], folder: Path) -> AuthConfig:
    scheme, raw = service_account_dict_to_scheme_credential(config=key, scopes=["x"])
    return AuthConfig(auth_scheme=scheme, raw_auth_credential=raw)


def machine(at: str, key: dict[str, Any], folder: Path) -> AuthConfig:
    (folder / "account.json").write_text(json.dumps(key))
    account = ServiceAccount(use_default_credential=True, scopes=["x"])
    scheme, raw = service_account_scheme_credential(account)
    return AuthConfig(auth_scheme=scheme, raw_auth_credential=raw)


@pytest.mark.parametrize("made", [client_credentials, discovery, service_account, machine])
async def test_whoever_is_cancelled_does_not_wait_for_what_can_be_asked_for_again(
    made: Callable[[str, dict[str, Any], Path], AuthConfig],
    hanging: Hanging,
    provider: Provider,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "account.json"))
    key = {**provider.account_key(), "token_uri": f"{hanging.address}/token"}
    config = made(hanging.address, key, tmp_path)
    signing_in = asyncio.create_task(AuthlibFlows(MemoryCredentials()).ready(ADA, config))
    with anyio.fail_after(10):
        await hanging.asked.wait()
        signing_in.cancel()
        done, _ = await asyncio.wait([signing_in], timeout=5)
    assert done
    # A thread that still waits keeps no program from ending.
    left = [thread for thread in threading.enumerate() if thread.name == "toolwright user"]
    assert all(thread.daemon for thread in left)


async def test_what_can_be_asked_for_again_has_a_deadline(
    hanging: Hanging, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_flows, "_SIGN_IN_SECONDS", 0.2)
    flows = AuthlibFlows(MemoryCredentials())
    with pytest.raises(ToolError, match=r"did not answer within 0\.2 s"):
        await flows.ready(ADA, client_credentials(hanging.address, {}, tmp_path))


async def test_a_refresh_token_that_was_sent_is_waited_for(
    hanging: Hanging, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_flows, "_SIGN_IN_SECONDS", 0.4)
    store = MemoryCredentials()
    config = client_credentials(hanging.address, {}, tmp_path)
    tokens = OAuth2Auth(access_token="old-token", refresh_token="works-once", expires_at=1)
    old = AuthCredential(auth_type=AuthCredentialTypes.OAUTH2, oauth2=tokens)
    await store.save(ADA, config.credential_key, old)
    signing_in = asyncio.create_task(AuthlibFlows(store).ready(ADA, config))
    with anyio.fail_after(10):
        await hanging.asked.wait()
        signing_in.cancel()
        done, _ = await asyncio.wait([signing_in], timeout=0.05)
        assert not done
        await asyncio.wait([signing_in])
    assert await store.load(ADA, config.credential_key) == old
