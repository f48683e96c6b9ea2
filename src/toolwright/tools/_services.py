"""What a tool's context needs from the services behind it, as protocols that backends fulfil."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from toolwright.messages import (
    ArtifactVersion,
    AuthConfig,
    AuthCredential,
    BlobPart,
    Content,
    Event,
    MemoryEntry,
    Scope,
    SearchMemoryResponse,
)

__all__ = ["Artifacts", "AuthFlows", "Credentials", "Memory", "Services"]


class Artifacts(Protocol):
    """Versioned files of a session; `user:` names are shared by all sessions of a user."""

    async def save(
        self, scope: Scope, filename: str, part: Content, metadata: dict[str, Any] | None = None
    ) -> int:
        """Store a new version and return its number, from 0."""
        ...

    async def load(
        self, scope: Scope, filename: str, version: int | None = None
    ) -> BlobPart | None:
        """One version, the newest if none is named; None where there is none."""
        ...

    async def names(self, scope: Scope) -> list[str]:
        """All names, sorted."""
        ...

    async def versions(self, scope: Scope, filename: str) -> list[ArtifactVersion]:
        """All versions of one name, oldest first."""
        ...

    async def delete(self, scope: Scope, filename: str) -> None:
        """Forget all versions of one name."""
        ...

    async def delete_session(self, scope: Scope) -> None:
        """Forget all that belongs to the session; what belongs to the user stays.

        What saves and deletions that were cut short have left behind, and no name leads to, too.
        """
        ...


class Memory(Protocol):
    """What is remembered about a user across sessions."""

    async def add(self, scope: Scope, entries: Sequence[MemoryEntry]) -> None:
        """Remember these."""
        ...

    async def add_events(self, scope: Scope, events: Sequence[Event]) -> None:
        """Remember what was said in these events; the same session again replaces nothing twice."""
        ...

    async def search(self, scope: Scope, query: str, limit: int = 10) -> SearchMemoryResponse:
        """What fits `query`, best first."""
        ...


class Credentials(Protocol):
    """Credentials of a user, by key. Implementations keep them out of logs and `repr`."""

    async def load(self, scope: Scope, key: str) -> Any:
        """The credential saved under `key`, or None."""
        ...

    async def save(self, scope: Scope, key: str, credential: Any) -> None:
        """Keep `credential` under `key`."""
        ...

    async def delete(self, scope: Scope, key: str) -> None:
        """Forget what is saved under `key`."""
        ...


class AuthFlows(Protocol):
    """Turns what a developer configured and what a person did into a credential ready to use."""

    async def ready(self, scope: Scope, config: AuthConfig) -> AuthCredential | None:
        """A usable credential (saved, refreshed or exchanged), or None when a person is needed."""
        ...

    async def renew(
        self, scope: Scope, config: AuthConfig, refused: AuthCredential
    ) -> AuthCredential | None:
        """Another credential after `refused` got a 401, or None when a person is needed.

        Raises `ToolError` when nobody but the developer can give another one.
        """
        ...

    async def begin(self, scope: Scope, config: AuthConfig) -> dict[str, Any]:
        """What a person must be shown: an address to sign in at, or which secret to enter."""
        ...

    async def finish(self, scope: Scope, config: AuthConfig, answer: Any) -> AuthCredential:
        """Take what the person brought back, save the credential and return it.

        Raises `UsageError` when the person can put it right by trying again, and `ToolError` when
        they cannot.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """The services a run was given; each may be missing."""

    artifacts: Artifacts | None = None
    memory: Memory | None = None
    credentials: Credentials | None = None
    auth: AuthFlows | None = None
