"""Who signs in to Google Cloud: this machine's default, a service account, or given credentials."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from toolwright._private import read_plain_file
from toolwright._sealed import sealed
from toolwright.errors import UsageError

try:
    import google.auth
    from google.auth.credentials import Credentials
    from google.auth.exceptions import DefaultCredentialsError, MalformedError
    from google.oauth2.service_account import Credentials as ServiceAccountCredentials
except ImportError as error:
    raise ImportError(
        "Google Cloud toolsets need an extra, such as: pip install 'toolwright[pubsub]'"
    ) from error

__all__ = ["CLOUD_PLATFORM", "GoogleCredentialsConfig"]

_MOST_BYTES = 1_000_000
CLOUD_PLATFORM = "https://www.googleapis.com/auth/cloud-platform"


@sealed
@dataclass(frozen=True, slots=True, kw_only=True)
class GoogleCredentialsConfig:
    """How to sign in. Without anything given, with the machine's application default credentials."""

    credentials: Credentials | None = field(default=None, repr=False)
    """Credentials from `google.auth`, used as they are."""
    service_account_json: str | Mapping[str, Any] | None = field(default=None, repr=False)
    """A service account's key: its JSON as text or parsed, or the path of the file."""
    scopes: Sequence[str] = (CLOUD_PLATFORM,)

    def load(self) -> Credentials:
        """The credentials; `UsageError` when there are none."""
        if self.credentials is not None:
            return self.credentials
        if self.service_account_json is not None:
            return _from_key(_parsed(self.service_account_json), self.scopes)
        try:
            return google.auth.default(scopes=list(self.scopes))[0]
        except DefaultCredentialsError as error:
            raise UsageError(
                "No Google Cloud credentials were found; give service_account_json, or sign in "
                "with 'gcloud auth application-default login'."
            ) from error


def _parsed(given: str | Mapping[str, Any]) -> Mapping[str, Any]:
    if isinstance(given, Mapping):
        return given
    try:
        text = (
            given
            if given.lstrip().startswith("{")
            else read_plain_file(given, _MOST_BYTES).decode()
        )
        return json.loads(text)
    except (OSError, ValueError) as error:
        # The text may be a key; only the kind of failure is told.
        raise UsageError(
            "service_account_json is neither a service account's JSON nor the path of such a file "
            f"({type(error).__name__})."
        ) from None


def _from_key(key: Mapping[str, Any], scopes: Sequence[str]) -> Credentials:
    try:
        return ServiceAccountCredentials.from_service_account_info(dict(key), scopes=list(scopes))
    except (ValueError, MalformedError) as error:
        raise UsageError(
            f"service_account_json is not a usable key: {type(error).__name__}."
        ) from None
