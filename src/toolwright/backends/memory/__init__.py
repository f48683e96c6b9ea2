"""What is remembered about users across their sessions."""

from toolwright.backends.memory._memory import SqlMemory
from toolwright.backends.memory._open import open_memory
from toolwright.backends.memory._vectors import Embedder

__all__ = ["Embedder", "SqlMemory", "open_memory"]
