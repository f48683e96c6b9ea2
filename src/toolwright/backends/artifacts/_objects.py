"""Bytes of artifacts in an object store: S3, Google Cloud Storage, Azure and others."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from toolwright._expected import shown_address_of
from toolwright.errors import StoreError, UsageError

try:
    import obstore
    import obstore.store
    from obstore.exceptions import AlreadyExistsError, BaseError, NotFoundError
    from obstore.store import from_url
except ImportError as error:
    raise ImportError("Object stores need an extra: pip install 'toolwright[objects]'") from error

__all__ = ["ObjectBlobs"]

_OPEN: Callable[..., obstore.store.ObjectStore] = from_url
"""Without obstore's overloads: which options there are depends on the address."""


class ObjectBlobs:
    """Each key is an object below `url`; `options` are obstore's, such as `endpoint`.

    Credentials come from the environment, as each cloud's own tools read them.
    """

    def __init__(self, url: str, **options: Any) -> None:
        if url.startswith("file:"):
            # An empty folder would look like an artifact without versions.
            options = {"automatic_cleanup": True, "mkdir": True} | options
        try:
            self._store = _OPEN(url, **options)
        except (BaseError, ValueError, TypeError) as error:
            raise UsageError(
                f"{shown_address_of(url)!r} cannot be used as an object store: {_told(error)}"
            ) from error
        self._url = url.removesuffix("/")

    async def create(self, key: str, data: bytes) -> bool:
        """Store whole or not at all; False when the key is taken."""
        with _as_store_error(key):
            try:
                await obstore.put_async(self._store, key, data, mode="create", use_multipart=False)
            except AlreadyExistsError:
                return False
            return True

    async def get(self, key: str) -> bytes | None:
        """What is stored, or None."""
        with _as_store_error(key):
            try:
                found = await obstore.get_async(self._store, key)
                return bytes(await found.bytes_async())
            except (NotFoundError, FileNotFoundError):
                return None

    async def children(self, folder: str) -> list[str]:
        """The names right below `folder`, of keys and of folders, sorted."""
        with _as_store_error(folder):
            found = await obstore.list_with_delimiter_async(self._store, folder)
        paths = [*found["common_prefixes"], *(entry["path"] for entry in found["objects"])]
        return sorted(str(path).rstrip("/").rpartition("/")[2] for path in paths)

    async def delete(self, key: str) -> None:
        """Forget it; it may be gone already."""
        with _as_store_error(key):
            try:
                await obstore.delete_async(self._store, key)
            except (NotFoundError, FileNotFoundError):
                return

    def uri(self, key: str) -> str:
        """An address that people and other programs can use."""
        return f"{self._url}/{key}"


@contextmanager
def _as_store_error(key: str) -> Iterator[None]:
    try:
        yield
    except BaseError as error:
        raise StoreError(f"The object store failed at {key!r}: {_told(error)}") from error


def _told(error: Exception) -> str:
    """The message without the library's internals."""
    return str(error).partition("\n\nDebug source")[0]
