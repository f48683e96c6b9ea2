"""From an address to the memory service behind it."""

from typing import Any

from toolwright.backends.memory._memory import SqlMemory
from toolwright.backends.memory._vectors import Embedder
from toolwright.errors import UsageError
from toolwright.messages import redact

__all__ = ["open_memory"]


def open_memory(where: Any, *, embedder: Embedder | None = None) -> Any:
    """The memory service at an address; a service is returned as it is. Connects on first use."""
    if hasattr(where, "search"):
        return where
    scheme, separator, _ = where.partition("://") if isinstance(where, str) else ("", "", "")
    if not separator or scheme not in ("memory", "sqlite", "postgresql", "postgres"):
        shown = redact(where) if isinstance(where, str) else where
        raise UsageError(
            f"{shown!r} is not the address of a memory service; use 'memory://', "
            "'sqlite:///file.db' or 'postgresql://user:password@host/name'."
        )
    return SqlMemory(where, embedder=embedder)
