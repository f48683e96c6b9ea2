"""Tell by its name whether a header, a variable or a field of an address holds a secret, and which."""

import base64
import re
from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit, urlunsplit

from toolwright.tools import ReadonlyContext, digest_of

__all__ = ["digest_of_plain", "hide_secrets", "is_secret", "secrets_among", "shown_address"]

_SECRETIVE = re.compile("auth|key|token|secret|cookie|password|passwd|credential|session", re.I)

_SCHEMES = frozenset(
    [
        "basic",
        "bearer",
        "concealed",
        "digest",
        "dpop",
        "gnap",
        "hoba",
        "jwt",
        "mutual",
        "negotiate",
        "ntlm",
        "oauth",
        "privatetoken",
        "scram-sha-1",
        "scram-sha-256",
        "token",
        "vapid",
        "apikey",
        "api-key",
        "key",
        "hawk",
        "sharedkey",
    ]
)
"""First words of a header that say what follows; they stand in many texts."""


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
    """What must not be shown of these headers: their values, and what these are made of."""
    values = [value for name, value in headers.items() if is_secret(name)]
    return {part for value in values for part in _parts(value.strip())}


def _parts(value: str) -> Iterator[str]:
    """The whole, what follows a scheme, each word, each value behind a "=", a decoded pair."""
    yield value
    scheme, _, rest = value.partition(" ")
    if scheme.lower() in _SCHEMES:
        value = rest.strip()
        yield value
    if scheme.lower() == "basic":
        yield from _pair(value)
    for word in value.split():
        for part in {word, *re.split("[;,]", word)}:
            yield from filter(_is_telling, (part, part.partition("=")[2].strip("\"'")))


def _pair(encoded: str) -> Iterator[str]:
    """The user with the password, and the password; nothing if this is no such pair."""
    try:
        data = base64.b64decode(encoded + "=" * (-len(encoded) % 4))
    except ValueError:
        return
    try:
        pair = data.decode("utf-8")
    except UnicodeDecodeError:
        pair = data.decode("latin-1")
    yield pair
    yield pair.partition(":")[2]


def _is_telling(part: str) -> bool:
    """Whether a part of a secret is to be hidden where it stands alone: short words say nothing."""
    return len(part) >= 8 or not part.isalpha()


def digest_of_plain(settings: Mapping[str, str]) -> str:
    """`#` and a digest of the settings that are no secrets, which come and go; empty without any."""
    plain = {name: value for name, value in settings.items() if not is_secret(name)}
    return f"#{digest_of(plain)[:16]}" if plain else ""


def shown_address(url: str) -> str:
    """A web address without what may be a secret in it: who signs in, and what is asked."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "an address that is none"
    if parts.scheme not in ("http", "https"):
        return url
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
