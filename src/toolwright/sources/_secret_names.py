"""Tell by its name whether a header, a variable or a field of an address holds a secret."""

import re
from collections.abc import Mapping

from toolwright.tools import digest_of

__all__ = ["digest_of_plain", "is_secret"]

_SECRETIVE = re.compile("auth|key|token|secret|cookie|password|passwd|credential|session", re.I)


def is_secret(name: str) -> bool:
    """Whether what stands under this name is likely to be a secret."""
    return _SECRETIVE.search(name) is not None


def digest_of_plain(settings: Mapping[str, str]) -> str:
    """`#` and a digest of the settings that are no secrets, which come and go; empty without any."""
    plain = {name: value for name, value in settings.items() if not is_secret(name)}
    return f"#{digest_of(plain)[:16]}" if plain else ""
