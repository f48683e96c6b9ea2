"""From an address to the artifact service behind it."""

import os
from typing import Any, TypeVar, overload
from urllib.parse import unquote, urlsplit

from toolwright._expected import shown_address_of
from toolwright.backends.artifacts._artifacts import BlobArtifacts
from toolwright.backends.artifacts._blobs import MemoryBlobs
from toolwright.backends.artifacts._directory import DirectoryBlobs
from toolwright.errors import UsageError

__all__ = ["DirectoryArtifacts", "MemoryArtifacts", "ObjectArtifacts", "open_artifacts"]

T = TypeVar("T")

_CLOUDS = ("s3", "s3a", "gs", "az", "azure", "abfs", "abfss", "adl")


class MemoryArtifacts(BlobArtifacts):
    """Artifacts kept in this process."""

    def __init__(self) -> None:
        super().__init__(MemoryBlobs())


class DirectoryArtifacts(BlobArtifacts):
    """Artifacts kept in a directory, which is made when it is missing."""

    def __init__(self, root: str | os.PathLike[str]) -> None:
        super().__init__(DirectoryBlobs(root))


class ObjectArtifacts(BlobArtifacts):
    """Artifacts kept in an object store; `options` are obstore's, such as `endpoint`."""

    def __init__(self, url: str, **options: Any) -> None:
        from toolwright.backends.artifacts._objects import ObjectBlobs  # noqa: PLC0415  optional

        super().__init__(ObjectBlobs(url, **options))


@overload
def open_artifacts(where: str) -> BlobArtifacts: ...
@overload
def open_artifacts(where: T) -> T: ...
def open_artifacts(where: Any) -> Any:
    """The artifact service at an address; a service is returned as it is."""
    if hasattr(where, "versions"):
        return where
    parts = urlsplit(where) if isinstance(where, str) else None
    if parts and parts.scheme == "memory" and not parts.netloc and not parts.path:
        return MemoryArtifacts()
    if parts and parts.scheme == "file" and not parts.netloc and parts.path:
        return DirectoryArtifacts(unquote(parts.path))
    if parts and parts.scheme in _CLOUDS and parts.netloc:
        return ObjectArtifacts(where)
    shown = shown_address_of(where) if isinstance(where, str) else type(where).__name__
    raise UsageError(
        f"{shown!r} is not the address of an artifact service; use 'memory://', "
        "'file:///path/to/directory', 's3://bucket/prefix', 'gs://bucket/prefix' "
        "or 'az://container/prefix'."
    )
