"""Credentials in the system's keyring: Keychain, Secret Service, Windows Credential Manager."""

from collections.abc import Callable
from typing import Any

from toolwright._sealed import Sealed
from toolwright.backends.auth._codec import decode, encode, place
from toolwright.concurrency import in_io_thread
from toolwright.errors import StoreError
from toolwright.messages import Scope

try:
    import keyring
    from keyring.backend import KeyringBackend
    from keyring.errors import KeyringError, NoKeyringError, PasswordDeleteError
except ImportError as error:
    raise ImportError(
        "The system keyring needs an extra: pip install 'toolwright[auth]'"
    ) from error

__all__ = ["KeyringCredentials"]


class KeyringCredentials(Sealed):
    """Keeps credentials in the system's keyring, which encrypts them with the user's login."""

    def __init__(
        self, service: str = "toolwright", *, backend: KeyringBackend | None = None
    ) -> None:
        self._service = service
        self._ring = backend or keyring.get_keyring()

    async def load(self, scope: Scope, key: str) -> Any:
        """What is saved under `key`, or None."""
        found = await self._ask(self._ring.get_password, self._service, place(scope, key))
        return None if found is None else decode(found)

    async def save(self, scope: Scope, key: str, credential: Any) -> None:
        """Keep `credential` under `key`, in place of what was there."""
        plain = encode(credential)
        await self._ask(self._ring.set_password, self._service, place(scope, key), plain)

    async def delete(self, scope: Scope, key: str) -> None:
        """Forget what is saved under `key`."""
        await self._ask(self._forget, place(scope, key))

    def __repr__(self) -> str:
        return f"KeyringCredentials({self._service!r})"

    def _forget(self, entry: str) -> None:
        if self._ring.get_password(self._service, entry) is None:
            return
        try:
            self._ring.delete_password(self._service, entry)
        except PasswordDeleteError:
            # Gone between the two steps; a keyring has no step that does both.
            return

    async def _ask(self, step: Callable[..., Any], *values: str) -> Any:
        try:
            return await in_io_thread(step, *values)
        except NoKeyringError as error:
            raise StoreError(
                "This machine has no keyring. Use SqliteCredentials(path), which encrypts a file."
            ) from error
        except KeyringError as error:
            raise StoreError(f"The keyring refused: {error}") from error
