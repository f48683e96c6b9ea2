"""Tell by its name whether a header, a variable or a field of an address holds a secret."""

import re
from collections.abc import Mapping

from toolwright.tools import ReadonlyContext, digest_of

__all__ = ["digest_of_plain", "hide_secrets", "is_secret", "secrets_among"]

_SECRETIVE = re.compile("auth|key|token|secret|cookie|password|passwd|credential|session", re.I)


def is_secret(name: str) -> bool:
    """Whether what stands under this name is likely to be a secret."""
    return _SECRETIVE.search(name) is not None


def hide_secrets(context: ReadonlyContext | None, sent: Mapping[str, str]) -> None:
    """Keep the secrets among these headers out of all that leaves the context's run.

    Whoever gets them may answer with them.
    """
    if context is not None:
        for secret in secrets_among(sent):
            context.run.redactor.add(secret)


def secrets_among(headers: Mapping[str, str]) -> set[str]:
    """What must not be shown of these headers."""
    return {value.rpartition(" ")[2] for name, value in headers.items() if is_secret(name)}


def digest_of_plain(settings: Mapping[str, str]) -> str:
    """`#` and a digest of the settings that are no secrets, which come and go; empty without any."""
    plain = {name: value for name, value in settings.items() if not is_secret(name)}
    return f"#{digest_of(plain)[:16]}" if plain else ""
