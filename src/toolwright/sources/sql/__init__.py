"""Tools over SQL databases, and what keeps their queries to reading."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from toolwright.sources.sql._toolset import SqlToolset

__all__ = ["SqlToolset"]


def __getattr__(name: str) -> Any:
    """Load the toolset when it is first used: the process that runs a query does without it."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        import sqlalchemy  # noqa: F401, PLC0415
    except ImportError as error:
        raise ImportError("SQL tools need an extra: pip install 'toolwright[sql]'") from error
    from toolwright.sources.sql import _toolset  # noqa: PLC0415

    return _toolset.SqlToolset
