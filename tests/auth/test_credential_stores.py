"""Where credentials are kept: what every store does, and what each adds."""

import sqlite3
import stat
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from keyring.backend import KeyringBackend
from keyring.backends.fail import Keyring as NoKeyring
from keyring.errors import PasswordDeleteError

from toolwright.backends import (
    CredentialStore,
    KeyringCredentials,
    MemoryCredentials,
    SqliteCredentials,
    encryption_key,
    key_from_file,
    new_key,
    open_credentials,
)
from toolwright.errors import StoreError, UsageError
from toolwright.messages import AuthCredential, AuthCredentialTypes, Scope
from toolwright.testing import CREDENTIAL_CHECKS, check_credentials

pytestmark = pytest.mark.anyio

ADA = Scope(app_name="app", user_id="ada", session_id="s1")
SECRET = "secret-canary-51d0"
CREDENTIAL = AuthCredential(auth_type=AuthCredentialTypes.API_KEY, api_key=SECRET)
KEY = new_key()
Make = Callable[[Path], CredentialStore]


class DictKeyring(KeyringBackend):
    """A keyring as the `keyring` package wants one, in memory."""

    priority = 1  # type: ignore[assignment]

    def __init__(self) -> None:
        super().__init__()
        self.entries: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.entries.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.entries[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        if self.entries.pop((service, username), None) is None:
            raise PasswordDeleteError("not found")


STORES: dict[str, Make] = {
    "memory": lambda folder: MemoryCredentials(),
    "sqlite": lambda folder: SqliteCredentials(folder / "credentials.db", keys=[KEY]),
    "keyring": lambda folder: KeyringCredentials(backend=DictKeyring()),
}


@pytest.mark.parametrize("make", STORES.values(), ids=STORES.keys())
@pytest.mark.parametrize("check", CREDENTIAL_CHECKS, ids=lambda check: check.__name__)
async def test_every_store_does_what_a_credential_store_must(
    make: Make, check: Callable[[CredentialStore], Awaitable[None]], tmp_path: Path
) -> None:
    await check(make(tmp_path))


async def test_the_suite_can_be_run_as_one() -> None:
    await check_credentials(MemoryCredentials)


async def test_the_suite_finds_a_store_that_mixes_users_up() -> None:
    class Careless(MemoryCredentials):
        async def load(self, scope: Scope, key: str) -> Any:
            return await super().load(replace(scope, user_id="ada"), key)

    with pytest.raises(AssertionError, match="belongs to one user of one app"):
        await check_credentials(Careless)


async def test_a_file_shows_no_secret_and_only_its_owner_can_read_it(tmp_path: Path) -> None:
    path = tmp_path / "credentials.db"
    store = SqliteCredentials(path, keys=[KEY])
    await store.save(ADA, "shop", CREDENTIAL)

    assert SECRET.encode() not in path.read_bytes()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


async def test_another_key_does_not_open_it(tmp_path: Path) -> None:
    path = tmp_path / "credentials.db"
    await SqliteCredentials(path, keys=[KEY]).save(ADA, "shop", CREDENTIAL)

    with pytest.raises(StoreError, match="sealed with another key"):
        await SqliteCredentials(path, keys=[new_key()]).load(ADA, "shop")


async def test_a_new_key_in_front_writes_and_the_old_one_still_reads(tmp_path: Path) -> None:
    path = tmp_path / "credentials.db"
    await SqliteCredentials(path, keys=[KEY]).save(ADA, "old", CREDENTIAL)
    newer = new_key()

    both = SqliteCredentials(path, keys=[newer, KEY])
    assert await both.load(ADA, "old") == CREDENTIAL
    await both.save(ADA, "new", CREDENTIAL)

    assert await SqliteCredentials(path, keys=[newer]).load(ADA, "new") == CREDENTIAL


async def test_a_row_that_was_copied_to_another_user_does_not_open(tmp_path: Path) -> None:
    path = tmp_path / "credentials.db"
    store = SqliteCredentials(path, keys=[KEY])
    await store.save(ADA, "shop", CREDENTIAL)
    with sqlite3.connect(path) as database:
        database.execute("UPDATE credentials SET place = replace(place, 'ada', 'eve')")
    database.close()

    with pytest.raises(StoreError, match="was changed"):
        await store.load(Scope(app_name="app", user_id="eve", session_id=""), "shop")


async def test_a_file_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    store = SqliteCredentials(tmp_path / "missing" / "credentials.db", keys=[KEY])
    with pytest.raises(StoreError, match=r"missing/credentials\.db"):
        await store.load(ADA, "shop")


async def test_a_machine_without_keyring_says_what_to_use_instead() -> None:
    store = KeyringCredentials(backend=NoKeyring())
    with pytest.raises(StoreError, match="Use SqliteCredentials"):
        await store.load(ADA, "shop")


def test_the_key_comes_from_the_environment_first(tmp_path: Path) -> None:
    environ = {"TOOLWRIGHT_CREDENTIALS_KEY": KEY, "XDG_CONFIG_HOME": str(tmp_path)}
    assert encryption_key(environ) == KEY
    assert list(tmp_path.iterdir()) == []


def test_without_one_a_key_file_is_made_once_for_its_owner_only(tmp_path: Path) -> None:
    environ = {"XDG_CONFIG_HOME": str(tmp_path)}
    key = encryption_key(environ)

    made = tmp_path / "toolwright" / "credentials.key"
    assert stat.S_IMODE(made.stat().st_mode) == 0o600
    assert encryption_key(environ) == key
    assert [path.name for path in made.parent.iterdir()] == ["credentials.key"]


def test_a_key_file_that_others_can_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "key"
    key_from_file(path)
    path.chmod(0o644)
    with pytest.raises(StoreError, match="chmod 600"):
        key_from_file(path)


@pytest.mark.parametrize(
    "key", ["", "short", "ä" * 44, new_key()[:-4]], ids=["none", "short", "odd", "cut"]
)
def test_a_wrong_key_is_refused_without_being_shown(tmp_path: Path, key: str) -> None:
    with pytest.raises(UsageError, match="32 random bytes") as caught:
        SqliteCredentials(tmp_path / "c.db", keys=[key])
    assert not key or key not in str(caught.value)


def test_stores_have_addresses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLWRIGHT_CREDENTIALS_KEY", KEY)
    assert isinstance(open_credentials("memory://"), MemoryCredentials)
    opened = open_credentials(f"sqlite:///{tmp_path}/c.db")
    assert repr(opened) == f"SqliteCredentials('{tmp_path}/c.db')"
    assert repr(open_credentials("keyring://acme")) == "KeyringCredentials('acme')"


@pytest.mark.parametrize("url", ["", "memory", "redis://x", "/c.db"])
def test_an_unknown_address_is_refused(url: str) -> None:
    with pytest.raises(UsageError, match="No credential store has the address"):
        open_credentials(url)


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///"])
def test_an_address_without_a_file_is_refused(url: str) -> None:
    with pytest.raises(UsageError, match="names no file"):
        open_credentials(url)


def test_a_file_in_memory_is_refused() -> None:
    with pytest.raises(UsageError, match="MemoryCredentials"):
        SqliteCredentials(":memory:", keys=[KEY])


def test_a_key_file_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match=r"file/key"):
        key_from_file(tmp_path / "file" / "key")
