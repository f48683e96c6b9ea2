"""Where the bytes of artifacts are kept: a flat space of keys, of which there are several kinds."""

from typing import Protocol

__all__ = ["DATA", "Blobs", "MemoryBlobs"]

DATA = "data"
"""The folder of bytes: whatever lies there without a record is nobody's, and goes with its session."""


class Blobs(Protocol):
    """Bytes by key. Keys are segments of letters, digits and `_.=-`, joined by `/`."""

    async def create(self, key: str, data: bytes) -> bool:
        """Store whole or not at all; False when the key is taken."""
        ...

    async def get(self, key: str) -> bytes | None:
        """What is stored, or None."""
        ...

    async def children(self, folder: str) -> list[str]:
        """The names right below `folder`, of keys and of folders, sorted."""
        ...

    async def delete(self, key: str) -> None:
        """Forget it; it may be gone already."""
        ...

    def uri(self, key: str) -> str:
        """An address that people and other programs can use."""
        ...


class MemoryBlobs:
    """Bytes in a dictionary."""

    def __init__(self) -> None:
        self._blobs: dict[str, bytes] = {}

    async def create(self, key: str, data: bytes) -> bool:
        """Store whole or not at all; False when the key is taken."""
        if key in self._blobs:
            return False
        self._blobs[key] = data
        return True

    async def get(self, key: str) -> bytes | None:
        """What is stored, or None."""
        return self._blobs.get(key)

    async def children(self, folder: str) -> list[str]:
        """The names right below `folder`, of keys and of folders, sorted."""
        start = f"{folder}/"
        below = (key[len(start) :] for key in self._blobs if key.startswith(start))
        return sorted({rest.partition("/")[0] for rest in below})

    async def delete(self, key: str) -> None:
        """Forget it; it may be gone already."""
        self._blobs.pop(key, None)

    def uri(self, key: str) -> str:
        """An address that people and other programs can use."""
        return f"memory:///{key}"
