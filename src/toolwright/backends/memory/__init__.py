"""What is remembered about users across their sessions."""

try:
    import sqlalchemy  # noqa: F401 - asked for here, so that its absence is told in words
except ImportError as error:
    raise ImportError("Memory needs an extra: pip install 'toolwright[sql]'") from error

from toolwright.backends.memory._memory import SqlMemory
from toolwright.backends.memory._open import open_memory
from toolwright.backends.memory._vectors import Embedder

__all__ = ["Embedder", "SqlMemory", "open_memory"]
