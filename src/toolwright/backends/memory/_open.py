"""From an address to the memory service behind it."""

from typing import Any, TypeVar, overload

from toolwright._expected import shown_address_of
from toolwright.backends.memory._memory import SqlMemory
from toolwright.backends.memory._vectors import Embedder
from toolwright.errors import UsageError

__all__ = ["open_memory"]


T = TypeVar("T")


@overload
def open_memory(where: str, *, embedder: Embedder | None = None) -> SqlMemory: ...
@overload
def open_memory(where: T, *, embedder: Embedder | None = None) -> T: ...
def open_memory(where: Any, *, embedder: Embedder | None = None) -> Any:
    """The memory service at an address; a service is returned as it is. Connects on first use."""
    if hasattr(where, "search"):
        if embedder is not None:
            raise UsageError("Give the embedder to the memory service itself; this one is made.")
        return where
    scheme, separator, _ = where.partition("://") if isinstance(where, str) else ("", "", "")
    if not separator or scheme not in ("memory", "sqlite", "postgresql", "postgres"):
        shown = shown_address_of(where) if isinstance(where, str) else type(where).__name__
        raise UsageError(
            f"{shown!r} is not the address of a memory service; use 'memory://', "
            "'sqlite:///file.db' or 'postgresql://user:password@host/name'."
        )
    return SqlMemory(where, embedder=embedder)
