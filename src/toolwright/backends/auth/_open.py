"""The credential store that an address names."""

from toolwright._expected import shown_address_of
from toolwright.backends import auth
from toolwright.backends._sqlite_address import sqlite_path
from toolwright.backends.auth._store import CredentialStore
from toolwright.errors import UsageError

__all__ = ["open_credentials"]


def open_credentials(url: str) -> CredentialStore:
    """`memory://`, `sqlite:///path/to/file.db` or `keyring://service`."""
    kind, separator, rest = url.partition("://")
    if kind == "memory" and separator:
        return auth.MemoryCredentials()
    if (path := sqlite_path(url)) is not None:
        return auth.SqliteCredentials(path)
    if kind == "keyring" and separator:
        return auth.KeyringCredentials(rest.strip("/") or "toolwright")
    raise UsageError(
        f"No credential store has the address {shown_address_of(url)!r}; "
        "use 'memory://', 'sqlite:///credentials.db' or 'keyring://'."
    )
