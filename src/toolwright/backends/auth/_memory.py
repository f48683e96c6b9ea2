"""Credentials that live as long as the process."""

from typing import Any

from toolwright._sealed import Sealed
from toolwright.backends.auth._codec import decode, encode, place
from toolwright.messages import Scope

__all__ = ["MemoryCredentials"]


class MemoryCredentials(Sealed):
    """Keeps credentials in memory: for tests, and for programs that sign in each time."""

    def __init__(self) -> None:
        self._saved: dict[str, str] = {}

    async def load(self, scope: Scope, key: str) -> Any:
        """What is saved under `key`, or None."""
        saved = self._saved.get(place(scope, key))
        return None if saved is None else decode(saved)

    async def save(self, scope: Scope, key: str, credential: Any) -> None:
        """Keep `credential` under `key`, in place of what was there."""
        self._saved[place(scope, key)] = encode(credential)

    async def delete(self, scope: Scope, key: str) -> None:
        """Forget what is saved under `key`."""
        self._saved.pop(place(scope, key), None)

    def __repr__(self) -> str:
        return f"MemoryCredentials({len(self._saved)} saved)"
