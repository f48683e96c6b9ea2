"""Take secrets out of text before anyone sees it."""

import re
import traceback
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count
from threading import RLock
from typing import Any

from toolwright._sealed import Sealed
from toolwright._spellings import Spellings
from toolwright.messages._encodings import forms_of
from toolwright.messages._logged import keep_out_of_logs

__all__ = [
    "REDACTED",
    "Redactor",
    "message_without_secrets",
    "redact",
    "trace_without_secrets",
]

REDACTED = "[redacted]"
"""What is shown in place of a secret."""
_LONGEST = 32_768
"""Letters of an exception that are told: it may have any number, and the loop waits."""
_MARGIN = 4_000
_MARK = REDACTED.encode()
_adding = RLock()
_PATTERNS = (
    (re.compile(r"\b(Bearer|Basic|Token)\s+[A-Za-z0-9\-._~+/]{8,}=*", re.I), rf"\1 {REDACTED}"),
    (re.compile(r"(://[^\s/:@]+):[^\s/@]+@"), rf"\1:{REDACTED}@"),
    (
        re.compile(
            r"\b(sk|pk|rk|ghp|gho|ghs|xox[abp]|glpat|AKIA|AIza|ya29)[-_.]?[A-Za-z0-9\-_.]{12,}"
        ),
        REDACTED,
    ),
    (
        re.compile(
            r"""(?ix)\b(api[_-]?key|secret|password|passwd|token|access[_-]?token|client[_-]?secret)
            (["']?\s*[=:]\s*["']?)[^\s"',;&)}]{4,}"""
        ),
        rf"\1\2{REDACTED}",
    ),
    (
        re.compile(
            r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.S
        ),
        REDACTED,
    ),
)
_HINT = re.compile(
    r"bearer|basic|token|://|sk|pk|rk|gh[pos]|xox|glpat|AKIA|AIza|ya29|key|secret|passw|PRIVATE",
    re.I,
)


def redact(text: str) -> str:
    """`text` without anything that looks like a secret."""
    if not _HINT.search(text):
        return text
    for pattern, replacement in _PATTERNS:
        text = pattern.sub(replacement, text)
    return text


class Redactor(Sealed):
    """Knows the secrets of one run by value, and what secrets look like."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets: set[str] = set()
        self._forms: dict[bytes, None] = {}
        self._spellings = Spellings(())
        for secret in secrets:
            self.add(secret)

    def add(self, secret: str) -> None:
        """Hide this value from now on. Very short ones are left alone: they would hide words."""
        # Of two threads the slower one would put back what it knew before the other.
        with _adding:
            if len(secret) >= 4 and secret not in self._secrets:
                self._forms |= dict.fromkeys(forms_of(secret))
                self._spellings = Spellings(self._forms)
                self._secrets.add(secret)
                keep_out_of_logs(self)

    def exact(self, text: str, between: Callable[[], None] | None = None) -> str:
        """`text` without the known secrets, however they are encoded; nothing else is touched.

        `between` is called now and then while a long text is read, and may raise to give up.
        """
        if not self._secrets:
            return text
        data = text.encode("utf-8", "surrogatepass")
        spans = self._spellings.find(data, between)
        return _marked(data, spans).decode("utf-8", "surrogatepass") if spans else text

    def beginning(self, text: str, letters: int, between: Callable[[], None] | None = None) -> str:
        """The first so many letters of what `exact` gives; no more of `text` is read than that takes."""
        if len(text) <= letters:
            return self.exact(text, between)
        if not self._secrets:
            return text[:letters]
        # With some more behind it: a secret at the cut is found whole, and not half of it shown.
        data = text[: letters + self._spellings.longest].encode("utf-8", "surrogatepass")
        size = len(text[:letters].encode("utf-8", "surrogatepass"))
        spans = [span for span in self._spellings.find(data, between) if span[0] < size]
        size = max([size, *(_end_of_letter(data, end) for _, end in spans[-1:])])
        return _marked(data[:size], spans).decode("utf-8", "surrogatepass")

    def ending(self, text: str, letters: int) -> str:
        """The same of its last letters."""
        if len(text) <= letters:
            return self.exact(text)
        if not self._secrets:
            return text[-letters:]
        data = text[-letters - self._spellings.longest :].encode("utf-8", "surrogatepass")
        start = len(data) - len(text[-letters:].encode("utf-8", "surrogatepass"))
        spans = [span for span in self._spellings.find(data) if span[1] > start]
        start = min([start, *(first for first, _ in spans[:1])])
        moved = [(first - start, last - start) for first, last in spans]
        return _marked(data[start:], moved).decode("utf-8", "surrogatepass")

    def inside(self, value: Any, between: Callable[[], None] | None = None) -> Any:
        """Plain JSON `value` without the known secrets, wherever in it they are; `between` as above."""
        if not self._secrets:
            return value
        if isinstance(value, str):
            return self.exact(value, between)
        if isinstance(value, dict):
            items = [self.inside(item, between) for item in value.values()]
            return dict(zip(self._keys(value), items, strict=True))
        if isinstance(value, list | tuple):
            return [self.inside(item, between) for item in value]
        return value

    def places(self, value: Any, place: str = "") -> Iterator[str]:
        """Where in plain JSON `value` something is hidden, in words that do not say what."""
        if isinstance(value, str) and self.exact(value) != value:
            yield place
        elif isinstance(value, dict):
            for (key, item), name in zip(value.items(), self._keys(value), strict=True):
                at = f"{place}.{name}" if place else name
                yield from [at] if key != name else self.places(item, at)
        elif isinstance(value, list | tuple):
            for number, item in enumerate(value):
                yield from self.places(item, f"{place}[{number}]")

    def _keys(self, keys: Iterable[Any]) -> list[str]:
        """Keys without the known secrets, still as many: where two would be one, they are numbered."""
        texts = [str(key) for key in keys]
        names = [self.exact(text) for text in texts]
        taken = {text for text, name in zip(texts, names, strict=True) if text == name}
        numbers: defaultdict[str, Iterator[int]] = defaultdict(lambda: count(2))
        for at, (text, name) in enumerate(zip(texts, names, strict=True)):
            while text != name and names[at] in taken:
                names[at] = f"{name} ({next(numbers[name])})"
            taken.add(names[at])
        return names

    def __call__(self, text: str) -> str:
        """`text` without the known secrets, and without what looks like one."""
        return redact(self.exact(text))

    def __bool__(self) -> bool:
        return bool(self._secrets)


def _marked(data: bytes, spans: Sequence[tuple[int, int]]) -> bytes:
    """The data with a mark in place of each span."""
    ends = [0, *(_end_of_letter(data, end) for _, end in spans)]
    parts = [data[end:start] for end, (start, _) in zip(ends, spans, strict=False)]
    return _MARK.join([*parts, data[ends[-1] :]])


def _end_of_letter(data: bytes, end: int) -> int:
    """Of the letter that ends at `end` or behind it: another encoding's letters are not cut in two."""
    while data[end : end + 1] and data[end] & 0xC0 == 0x80:
        end += 1
    return end


def message_without_secrets(redactor: Redactor, message: str) -> str:
    """The message, without what is too long to be looked through for secrets."""
    # With some more at first: what looks like a secret at the cut is not told by half.
    return redact(redactor.beginning(message, _LONGEST + _MARGIN))[:_LONGEST]


def trace_without_secrets(redactor: Redactor, error: BaseException) -> str:
    """The traceback, as a log file can hold it."""
    trace = "".join(traceback.format_exception(error))
    told = redact(redactor.ending(trace, _LONGEST + _MARGIN))[-_LONGEST:]
    return told.encode(errors="backslashreplace").decode()
