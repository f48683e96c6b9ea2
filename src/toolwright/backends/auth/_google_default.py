"""A token of the machine's own Google account: its metadata server, or the key it was given."""

from collections.abc import Sequence
from datetime import UTC
from typing import Any

from toolwright.errors import StoreError
from toolwright.messages import OAuth2Auth

try:
    import google.auth
    from google.auth.exceptions import GoogleAuthError
    from google.auth.transport.requests import Request
except ImportError as error:
    raise ImportError(
        "The machine's default credentials need an extra: pip install 'toolwright[integration]'"
    ) from error

__all__ = ["machine_token"]


_SECONDS = 20.0
"""For each request, in place of Google's own 120."""


def _ask(*args: Any, timeout: float | None = None, **settings: Any) -> Any:
    return Request()(*args, timeout=min(timeout or _SECONDS, _SECONDS), **settings)


def machine_token(scopes: Sequence[str]) -> OAuth2Auth:
    """A token for `scopes`; blocks, so call it in a thread."""
    try:
        found, _ = google.auth.default(scopes=scopes or None, request=_ask)
        found.refresh(_ask)
    except GoogleAuthError as error:
        raise StoreError(f"The machine's default credentials gave no token: {error}") from error
    expires_at = found.expiry.replace(tzinfo=UTC).timestamp() if found.expiry else None
    return OAuth2Auth(access_token=found.token, expires_at=expires_at, token_type="Bearer")
