"""From an address to the store behind it."""

from toolwright._expected import shown_address_of, shown_value
from toolwright.backends._memory_store import MemoryStore
from toolwright.backends._store import Store
from toolwright.errors import UsageError

__all__ = ["open_store"]

_FORMS = (
    "'memory://', 'sqlite:///file.db' (relative), 'sqlite:////path/file.db' (absolute) "
    "or 'postgresql://user:password@host/name'"
)


def open_store(where: "str | Store") -> Store:
    """The store at an address; a store is returned as it is. Connects on first use."""
    if not isinstance(where, str):
        if not hasattr(where, "open_calls"):
            raise UsageError(
                f"{shown_value('store', where)} is neither a store nor an address; addresses: {_FORMS}."
            )
        return where
    scheme, separator, rest = where.partition("://")
    if scheme == "memory" and separator and not rest:
        return MemoryStore()
    if separator and scheme.partition("+")[0] in ("sqlite", "postgresql", "postgres"):
        from toolwright.backends.sql import SqlStore  # noqa: PLC0415  optional dependency

        return SqlStore(where)
    raise UsageError(f"{shown_address_of(where)!r} is not the address of a store; use {_FORMS}.")
