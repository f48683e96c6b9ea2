"""Where the key that encrypts stored credentials comes from."""

import base64
import binascii
import os
import secrets
import stat
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from toolwright._private import close_to_others, demand_own_way, make_parents, read_plain_file
from toolwright.backends._own_paths import hide_directory, unless_refused
from toolwright.errors import StoreError, UsageError

__all__ = ["KEY_VARIABLE", "encryption_key", "key_bytes", "key_from_file", "new_key"]

KEY_VARIABLE = "TOOLWRIGHT_CREDENTIALS_KEY"
_LENGTH = 32
_MOST_BYTES = 10_000


def new_key() -> str:
    """A new random key, as text that fits into an environment variable or a file."""
    return base64.urlsafe_b64encode(secrets.token_bytes(_LENGTH)).decode()


def encryption_key(environ: Mapping[str, str] = os.environ) -> str:
    """The key in `TOOLWRIGHT_CREDENTIALS_KEY`; without it, the one in the user's own key file."""
    return environ.get(KEY_VARIABLE) or key_from_file(_default_path(environ))


@unless_refused()
def key_from_file(path: str | Path) -> str:
    """The key in a file that only its owner may read; made on first use."""
    path = Path(path)
    # By its directory only where that is ours: another's has other things in it.
    hide_directory(path.parent if path.parent.name == "toolwright" else path)
    try:
        demand_own_way(path)
        if not path.exists():
            _create(path)
        mode = stat.S_IMODE(path.stat().st_mode)
        text = read_plain_file(path, _MOST_BYTES).decode("ascii")
    except (OSError, UnicodeDecodeError) as error:
        why = "it is no text" if isinstance(error, UnicodeDecodeError) else error
        raise StoreError(f"The key file {str(path)!r} cannot be used: {why}") from error
    if os.name == "posix" and mode & 0o077:
        raise StoreError(
            f"The key file {str(path)!r} can be read by others (mode {mode:o}). "
            f"Close it with: chmod 600 {path}"
        )
    return text.strip()


def key_bytes(key: str) -> bytes:
    """The 32 bytes behind a key's text; `UsageError` when it is not such a key."""
    try:
        decoded = base64.urlsafe_b64decode(key.encode())
    except (binascii.Error, ValueError):
        decoded = b""
    if len(decoded) != _LENGTH:
        # The text itself is a secret, even when it is a wrong one.
        raise UsageError(
            f"A credentials key is {_LENGTH} random bytes in URL-safe base64; "
            f"this one is {len(decoded)} bytes. Make one with toolwright.backends.new_key()."
        )
    return decoded


def _create(path: Path) -> None:
    make_parents(path)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w") as file:
        close_to_others(file.fileno())
        file.write(new_key())
    # Linked into place: two first users at once agree on one key, and none reads half of it.
    with suppress(FileExistsError):
        os.link(draft, path)
    draft.unlink()


def _default_path(environ: Mapping[str, str]) -> Path:
    base = environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(base) / "toolwright" / "credentials.key"
