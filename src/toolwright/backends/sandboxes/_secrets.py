"""Secrets that a sandboxed program uses without having them: a placeholder inside, the value outside."""

import base64
import binascii
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from toolwright.errors import UsageError

__all__ = ["Exchange", "HostSecret"]


@dataclass(frozen=True, slots=True)
class HostSecret:
    """A secret, and the hosts it is for; `"*.example.com"` stands for all below it.

    The program has a placeholder. In the headers of its HTTPS requests to these hosts, the proxy of
    the sandbox puts the secret in its place; what a host sends back is searched for the secret.
    """

    value: str = field(repr=False)
    hosts: Sequence[str]

    def __post_init__(self) -> None:
        if len(self.value) < 8 or not self.value.isprintable():
            raise UsageError(
                "A secret for a sandbox has at least eight printable characters: shorter ones "
                "cannot be found again in an answer."
            )
        if isinstance(self.hosts, str) or not self.hosts:
            raise UsageError("A secret is for hosts: HostSecret(value, ['api.example.com']).")


@dataclass(frozen=True, slots=True)
class _Pair:
    placeholder: bytes
    secret: bytes


class Exchange:
    """Swaps placeholders for secrets on the way out, and secrets for placeholders on the way in."""

    def __init__(self, secrets: Iterable[HostSecret] = ()) -> None:
        self._pairs: list[tuple[HostSecret, _Pair]] = []
        for secret in secrets:
            placeholder = f"placeholder-{uuid.uuid4().hex}".encode()
            self._pairs.append((secret, _Pair(placeholder, secret.value.encode())))

    def placeholder(self, secret: HostSecret) -> str:
        """What stands for a secret inside."""
        return next(pair.placeholder.decode() for known, pair in self._pairs if known is secret)

    @property
    def hosts(self) -> list[str]:
        """All hosts that a secret is for."""
        return list(dict.fromkeys(host for secret, _ in self._pairs for host in secret.hosts))

    def put_in(self, name: bytes, value: bytes, secrets: Sequence[HostSecret]) -> bytes:
        """A header's value with `secrets` in place of their placeholders, in Basic ones too."""
        pairs = self._of(secrets)
        kind, _, encoded = value.partition(b" ")
        if name.lower() in (b"authorization", b"proxy-authorization") and kind.lower() == b"basic":
            try:
                plain = base64.b64decode(encoded.strip(), validate=True)
            except binascii.Error:
                return value
            return kind + b" " + base64.b64encode(_swapped(plain, pairs))
        return _swapped(value, pairs)

    def taken_out(self, secrets: Sequence[HostSecret]) -> "Filter":
        """What searches an answer for `secrets`."""
        forms = [
            _Pair(pair.placeholder, form)
            for pair in self._of(secrets)
            for form in (pair.secret, base64.b64encode(pair.secret))
        ]
        return Filter(forms)

    def _of(self, secrets: Sequence[HostSecret]) -> list[_Pair]:
        return [pair for known, pair in self._pairs if any(known is one for one in secrets)]


class Filter:
    """Replaces secrets in a stream, wherever it was cut into pieces."""

    def __init__(self, pairs: Sequence[_Pair]) -> None:
        self._pairs = [_Pair(pair.secret, pair.placeholder) for pair in pairs]
        self._held = b""

    def whole(self, data: bytes) -> bytes:
        """A text that is complete."""
        return _swapped(data, self._pairs)

    def feed(self, data: bytes) -> bytes:
        """The next piece; an end that may be the beginning of a secret is held back."""
        text = _swapped(self._held + data, self._pairs)
        keep = max((_overlap(text, pair.placeholder) for pair in self._pairs), default=0)
        self._held = text[len(text) - keep :]
        return text[: len(text) - keep]

    def end(self) -> bytes:
        """What was held back."""
        held, self._held = self._held, b""
        return held


def _swapped(data: bytes, pairs: Iterable[_Pair]) -> bytes:
    for pair in pairs:
        data = data.replace(pair.placeholder, pair.secret)
    return data


def _overlap(text: bytes, wanted: bytes) -> int:
    """How long the longest end of `text` is that `wanted` begins with."""
    longest = min(len(text), len(wanted) - 1)
    return next((n for n in range(longest, 0, -1) if text.endswith(wanted[:n])), 0)
