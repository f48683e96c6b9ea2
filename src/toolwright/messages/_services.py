"""Values exchanged with the services behind a tool's context: artifacts and memories, and whose they are."""

import hashlib
import json
from dataclasses import dataclass, field, replace
from typing import Any

__all__ = ["ArtifactVersion", "MemoryEntry", "Scope", "SearchMemoryResponse", "call_key"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Whose data a service call is about."""

    app_name: str
    user_id: str
    session_id: str


def call_key(scope: Scope, born: float | None, call_id: str) -> str:
    """Names a call of a session, made at `born`, among all calls of all sessions there ever were."""
    # As long for every call: services take keys of some 64 letters, ids may be longer.
    whole = json.dumps([scope.app_name, scope.user_id, scope.session_id, born, call_id])
    return hashlib.sha256(whole.encode()).hexdigest()[:40]


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactVersion:
    """One stored version of an artifact, without its bytes."""

    filename: str
    version: int
    media_type: str
    size: int
    canonical_uri: str
    created_at: float
    custom_metadata: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryEntry:
    """Something worth remembering about a user."""

    content: str
    author: str = ""
    created_at: float = 0.0
    session_id: str | None = None
    score: float = 0.0
    """How well it fits the query it was found with."""
    metadata: dict[str, Any] = field(default_factory=dict)

    @property
    def is_untrusted(self) -> bool:
        """Whether it was kept by a session that had read what anybody may have written."""
        return bool(self.metadata.get("untrusted"))

    def as_untrusted(self) -> "MemoryEntry":
        """The same, said to be that."""
        return replace(self, metadata={**self.metadata, "untrusted": True})


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchMemoryResponse:
    """What a memory search found, best first."""

    memories: tuple[MemoryEntry, ...] = ()
