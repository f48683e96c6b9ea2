"""What a credential store does; whose credential it is follows from app and user, not session."""

from typing import Any, Protocol

from toolwright.messages import Scope

__all__ = ["CredentialStore"]


class CredentialStore(Protocol):
    """Keeps credentials by app, user and key. Sessions of one user share them.

    A value is an `AuthCredential`, or plain JSON: a person's answer that is still to be looked at.
    """

    async def load(self, scope: Scope, key: str) -> Any:
        """What is saved under `key`, or None."""
        ...

    async def save(self, scope: Scope, key: str, credential: Any) -> None:
        """Keep `credential` under `key`, in place of what was there."""
        ...

    async def delete(self, scope: Scope, key: str) -> None:
        """Forget what is saved under `key`; nothing happens when there is nothing."""
        ...
