"""Secrets that a sandboxed program uses without having them: a placeholder inside, the value outside."""

import base64
import binascii
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from toolwright._packed import base64_forms, hexadecimal_forms
from toolwright._spellings import Spellings, readings
from toolwright.errors import UsageError

__all__ = ["Exchange", "HostSecret"]

_TELLING = 4
"""Different characters that tell a secret from texts that have nothing to do with it."""


@dataclass(frozen=True, slots=True)
class HostSecret:
    """A secret, and the hosts it is for; `"*.example.com"` stands for all below it.

    The program has a placeholder. In the headers of its HTTPS requests to these hosts, the proxy of
    the sandbox puts the secret in its place; what a host sends back is searched for the secret.

    The hosts are trusted with it. One that wants to hand it to the program always can, backwards or
    in pieces: the search is for hosts that merely repeat what they were sent.
    """

    value: str = field(repr=False)
    hosts: Sequence[str]

    def __post_init__(self) -> None:
        if len(self.value) < 8 or not self.value.isprintable():
            raise UsageError(
                "A secret for a sandbox has at least eight printable characters: shorter ones "
                "cannot be found again in an answer."
            )
        if not self.value.isascii():
            raise UsageError(
                "A secret for a sandbox has ASCII characters only: others are written in too many "
                "ways to be found again in an answer. Give the host a token instead."
            )
        if isinstance(self.hosts, str) or not self.hosts:
            raise UsageError("A secret is for hosts: HostSecret(value, ['api.example.com']).")


@dataclass(frozen=True, slots=True)
class _Pair:
    secret: HostSecret
    placeholder: bytes
    value: bytes
    spellings: Spellings


class Exchange:
    """Swaps placeholders for secrets on the way out, and secrets for placeholders on the way in."""

    def __init__(self, secrets: Iterable[HostSecret] = ()) -> None:
        self._pairs = [
            _Pair(
                secret,
                f"placeholder-{uuid.uuid4().hex}".encode(),
                secret.value.encode(),
                Spellings(_forms(secret.value.encode())),
            )
            for secret in secrets
        ]

    def placeholder(self, secret: HostSecret) -> str:
        """What stands for a secret inside."""
        return next(pair.placeholder.decode() for pair in self._pairs if pair.secret is secret)

    def put_in(self, name: bytes, value: bytes, secrets: Sequence[HostSecret]) -> bytes:
        """A header's value with `secrets` in place of their placeholders, in Basic ones too."""
        pairs = [pair for pair in self._pairs if any(pair.secret is one for one in secrets)]
        kind, _, encoded = value.partition(b" ")
        if name.lower() in (b"authorization", b"proxy-authorization") and kind.lower() == b"basic":
            try:
                plain = base64.b64decode(encoded.strip(), validate=True)
            except binascii.Error:
                return value
            return kind + b" " + base64.b64encode(_swapped(plain, pairs))
        return _swapped(value, pairs)

    def filter(self) -> "Filter":
        """What takes the secrets, all of them, out of one answer."""
        return Filter(self._pairs)


class Filter:
    """Replaces secrets in a stream, wherever it was cut into pieces."""

    def __init__(self, pairs: Sequence[_Pair]) -> None:
        self._pairs = pairs
        self._held = b""

    def whole(self, data: bytes) -> bytes:
        """A text that is complete."""
        for pair in self._pairs:
            for start, end in reversed(pair.spellings.find(data)):
                data = data[:start] + pair.placeholder + data[end:]
        return data

    def feed(self, data: bytes) -> bytes:
        """The next piece; an end that may be the beginning of a secret is held back."""
        text = self.whole(self._held + data)
        # No secret begins within a placeholder, even if its last characters look like that.
        done = max((_end_of_last(pair.placeholder, text) for pair in self._pairs), default=0)
        rest = text[done:]
        cut = done + min((p.spellings.may_begin(rest) for p in self._pairs), default=len(rest))
        self._held = text[cut:]
        return text[:cut]

    def end(self) -> bytes:
        """What was held back."""
        held, self._held = self._held, b""
        return held


def _end_of_last(mark: bytes, text: bytes) -> int:
    at = text.rfind(mark)
    return 0 if at < 0 else at + len(mark)


def _swapped(data: bytes, pairs: Iterable[_Pair]) -> bytes:
    for pair in pairs:
        data = data.replace(pair.placeholder, pair.value)
    return data


def _forms(secret: bytes) -> Iterator[bytes]:
    """As it is, in base64 and in hexadecimal.

    Base64 may itself be in either, as when a request is shown that had a Basic header.
    """
    yield secret
    # It may itself look escaped, and is then another one once it has been read.
    yield from (read for read in readings(secret) if len({*read}) >= _TELLING)
    yield secret.replace(b" ", b"+")
    in_base64 = list(base64_forms(secret))
    yield from in_base64
    for form in (secret, *in_base64):
        yield from hexadecimal_forms(form)
    for form in in_base64:
        yield from base64_forms(form)
    yield secret.decode("utf-8", "replace").encode("utf-16-le")[:-1]
