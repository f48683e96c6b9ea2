"""Versioned files that tools save and load: in memory, in a directory, in an object store."""

from toolwright.backends.artifacts._artifacts import BlobArtifacts
from toolwright.backends.artifacts._blobs import Blobs
from toolwright.backends.artifacts._open import (
    DirectoryArtifacts,
    MemoryArtifacts,
    ObjectArtifacts,
    open_artifacts,
)

__all__ = [
    "BlobArtifacts",
    "Blobs",
    "DirectoryArtifacts",
    "MemoryArtifacts",
    "ObjectArtifacts",
    "open_artifacts",
]
