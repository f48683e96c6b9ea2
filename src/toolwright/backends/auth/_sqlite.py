"""Credentials in an SQLite file, each encrypted and bound to its app, user and key."""

import secrets
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from toolwright._sealed import Sealed
from toolwright.backends._own_paths import hide_database, make_database, unless_refused
from toolwright.backends.auth._codec import decode, encode, place
from toolwright.backends.auth._keys import encryption_key, key_bytes
from toolwright.concurrency import in_io_thread
from toolwright.errors import StoreError, UsageError
from toolwright.messages import Scope

try:
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM
except ImportError as error:
    raise ImportError(
        "Encrypted credentials need an extra: pip install 'toolwright[auth]'"
    ) from error

__all__ = ["SqliteCredentials"]

_NONCE_BYTES = 12
_TABLE = "CREATE TABLE IF NOT EXISTS credentials (place TEXT PRIMARY KEY, sealed BLOB NOT NULL)"


class SqliteCredentials(Sealed):
    """Keeps credentials in one file, sealed with AES-256-GCM.

    `keys` are tried in order when reading, and the first one writes: put a new key in front to
    change keys. Without `keys`, `encryption_key()` says where the key is. The names of apps,
    users and credentials are not encrypted.
    """

    def __init__(self, path: str | Path, *, keys: Sequence[str] = ()) -> None:
        if str(path) == ":memory:":
            raise UsageError("Credentials that need not be kept go to MemoryCredentials().")
        self._path = Path(path)
        with unless_refused():
            hide_database(self._path)
            self._ciphers = [AESGCM(key_bytes(key)) for key in keys or (encryption_key(),)]

    async def load(self, scope: Scope, key: str) -> Any:
        """What is saved under `key`, or None; `StoreError` when no key opens it."""
        where = place(scope, key)
        found = await self._execute("SELECT sealed FROM credentials WHERE place = ?", where)
        return decode(self._open(where, found[0][0])) if found else None

    async def save(self, scope: Scope, key: str, credential: Any) -> None:
        """Keep `credential` under `key`, in place of what was there."""
        where = place(scope, key)
        sealed = self._seal(where, encode(credential).encode())
        await self._execute("INSERT OR REPLACE INTO credentials VALUES (?, ?)", where, sealed)

    async def delete(self, scope: Scope, key: str) -> None:
        """Forget what is saved under `key`."""
        await self._execute("DELETE FROM credentials WHERE place = ?", place(scope, key))

    def __repr__(self) -> str:
        return f"SqliteCredentials({str(self._path)!r})"

    def _seal(self, where: str, plain: bytes) -> bytes:
        # Bound to its place: a row that is copied to another user's place does not open there.
        nonce = secrets.token_bytes(_NONCE_BYTES)
        return nonce + self._ciphers[0].encrypt(nonce, plain, where.encode())

    def _open(self, where: str, sealed: bytes) -> bytes:
        nonce, body = sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:]
        for cipher in self._ciphers:
            try:
                return cipher.decrypt(nonce, body, where.encode())
            except InvalidTag:
                continue
        raise StoreError(
            f"The credential {where} in {str(self._path)!r} was sealed with another key, or was "
            "changed. Give the key it was saved with, or delete it."
        )

    async def _execute(self, query: str, *values: Any) -> list[Any]:
        try:
            return await in_io_thread(self._execute_here, query, values)
        except (sqlite3.Error, OSError) as error:
            raise StoreError(f"Credentials in {str(self._path)!r}: {error}") from error

    def _execute_here(self, query: str, values: tuple[Any, ...]) -> list[Any]:
        make_database(self._path)
        with closing(sqlite3.connect(self._path, timeout=10)) as database, database:
            # Overwritten when deleted: an old token must not stay readable in a free page.
            database.execute("PRAGMA secure_delete = ON")
            database.execute(_TABLE)
            return database.execute(query, values).fetchall()
