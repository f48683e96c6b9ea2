"""What a provider's prompt cache would have made of a series of requests, by its documented rules.

Anthropic reads and writes at marks, block by block; OpenAI and Gemini match the beginning by
themselves. Tokens are counted as a quarter of the bytes, the same everywhere, so that two
conversations can be compared; no provider promises that a cache is hit.
"""

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from toolwright.errors import UsageError
from toolwright.models import Price
from toolwright.models._prices import price_of

__all__ = ["CachedRequest", "prompt_cache"]

Provider = Literal["anthropic", "openai", "google"]
_BYTES_PER_TOKEN = 4
_FIVE_MINUTES, _HOUR, _DAY = 300.0, 3600.0, 86400.0
_MOST_MARKS = 4
_LOOKS_BACK = 20
"""Blocks before a mark at which Anthropic looks for what an earlier request has written."""
_OPENAI_FIRST, _OPENAI_STEP = 1024, 128
_CLAUDE_LEAST = (
    (re.compile(r"claude-(opus-5|fable-5|mythos-5)"), 512),
    (re.compile(r"claude-(opus-4-[56]|haiku-4-5)"), 4096),
    (re.compile(r"claude-(opus-4-7|3-(5-)?haiku)"), 2048),
)
_GEMINI_LEAST = ((re.compile(r"gemini-2\.5"), 2048),)
_USUAL = Price(input=1, output=1, cached=0.1)
_USUAL_CLAUDE = Price(input=1, output=1, cached=0.1, cache_write=1.25, cache_write_1h=2)


@dataclass(frozen=True, slots=True, kw_only=True)
class CachedRequest:
    """What one request would have cost; all in input tokens."""

    tokens: int
    """Of the whole request."""
    read: int
    """From the cache."""
    written: int
    """To the cache."""
    paid: float
    """At the price of a token that is neither read nor written."""
    changed_at: str
    """Where it first differs from the request before, such as `tools[3]`; empty where it only adds
    to the end of that one."""


@dataclass(frozen=True, slots=True)
class _Block:
    place: str
    text: str
    mark: str = ""
    """How long a mark after this block keeps what comes before it: `5m` or `1h`."""

    @property
    def bytes(self) -> int:
        return len(self.text.encode())


def prompt_cache(
    requests: Sequence[Mapping[str, Any]],
    provider: Provider,
    *,
    model: str | None = None,
    times: Sequence[float] | None = None,
) -> list[CachedRequest]:
    """What each of these request bodies would have read from the cache, written to it, and paid.

    `model` is for bodies that do not name theirs, as Gemini's; `times` are the seconds at which they
    were sent, all at once if left out.
    """
    if provider not in _RULES:
        raise UsageError(f"Known providers: {', '.join(_RULES)}; got {provider!r}.")
    if times is not None and len(times) != len(requests):
        raise UsageError(f"There are {len(requests)} requests, and {len(times)} times.")
    cache = _RULES[provider]()
    found: list[CachedRequest] = []
    before: list[_Block] | None = None
    for number, body in enumerate(requests):
        name = str(body.get("model") or model or "")
        blocks = list(_BLOCKS[provider](body))
        tokens = _tokens(blocks)
        read, written, hour = cache.use(body, name, blocks, times[number] if times else 0.0)
        price = price_of(f"{provider}:{name}") or cache.usual
        found.append(
            CachedRequest(
                tokens=tokens,
                read=read,
                written=written + hour,
                paid=_paid(price, tokens, read, written, hour),
                changed_at=_changed_at(before, blocks),
            )
        )
        before = blocks
    return found


def _tokens(blocks: Sequence[_Block]) -> int:
    return sum(block.bytes for block in blocks) // _BYTES_PER_TOKEN


def _paid(price: Price, tokens: int, read: int, written: int, hour: int) -> float:
    cached = price.input if price.cached is None else price.cached
    write = price.input if price.cache_write is None else price.cache_write
    write_1h = write if price.cache_write_1h is None else price.cache_write_1h
    fresh = tokens - read - written - hour
    spent = fresh * price.input + read * cached + written * write + hour * write_1h
    return spent / price.input if price.input else 0.0


def _changed_at(before: list[_Block] | None, blocks: list[_Block]) -> str:
    for old, new in zip(before or (), blocks, strict=False):
        if old.text != new.text:
            return new.place
    if before is not None and len(blocks) < len(before):
        return before[len(blocks)].place
    return ""


# -- the rules ------------------------------------------------------------------------------------


class _Anthropic:
    usual = _USUAL_CLAUDE

    def __init__(self) -> None:
        self._until: dict[tuple[str, ...], tuple[float, float]] = {}
        """For each beginning that was written: until when it is kept, and how long from a use on."""

    def use(
        self, body: Mapping[str, Any], model: str, blocks: list[_Block], now: float
    ) -> tuple[int, int, int]:
        """Tokens read, written for five minutes, and written for an hour."""
        marks = [number for number, block in enumerate(blocks) if block.mark]
        if len(marks) > _MOST_MARKS:
            raise UsageError(f"Anthropic takes {_MOST_MARKS} cache marks; found {len(marks)}.")
        keys = list(_beginnings(model, body, blocks))
        ends = [_tokens(blocks[: number + 1]) for number in range(len(blocks))]
        hit = max((self._found(keys, mark, now) for mark in marks), default=-1)
        read = ends[hit] if hit >= 0 else 0
        written, last = {"5m": 0, "1h": 0}, read
        for mark in marks:
            if ends[mark] >= _least(_CLAUDE_LEAST, model, 1024):
                if ends[mark] > last:
                    written[blocks[mark].mark] += ends[mark] - last
                    last = ends[mark]
                kept = _HOUR if blocks[mark].mark == "1h" else _FIVE_MINUTES
                self._until[keys[mark]] = now + kept, kept
        return read, written["5m"], written["1h"]

    def _found(self, keys: Sequence[tuple[str, ...]], mark: int, now: float) -> int:
        for number in range(mark, max(-1, mark - _LOOKS_BACK), -1):
            until, kept = self._until.get(keys[number], (-1.0, 0.0))
            if until >= now:
                self._until[keys[number]] = now + kept, kept
                return number
        return -1


def _beginnings(
    model: str, body: Mapping[str, Any], blocks: Sequence[_Block]
) -> Iterator[tuple[str, ...]]:
    """What the beginning up to each block is known by.

    The choice of tools and thinking belong to the messages: changing them leaves what is before.
    """
    settings = _json([body.get("tool_choice"), body.get("thinking")])
    so_far = 0
    for block in blocks:
        so_far = hash((so_far, block.text))
        of_messages = settings if block.place.startswith("messages") else ""
        yield model, str(so_far), of_messages


class _Prefix(ABC):
    """A provider that finds the longest beginning which a recent request had, too."""

    usual = _USUAL
    first: int
    step: int

    def __init__(self) -> None:
        self._seen: dict[str, list[tuple[float, list[_Block]]]] = {}

    def use(
        self, body: Mapping[str, Any], model: str, blocks: list[_Block], now: float
    ) -> tuple[int, int, int]:
        """Tokens read, written, and none for an hour."""
        key = _json([model, body.get("prompt_cache_key")])
        seen = [(until, old) for until, old in self._seen.get(key, []) if until >= now]
        shared = max((_shared(old, blocks) for _, old in seen), default=0)
        read = self._kept(shared // _BYTES_PER_TOKEN, model)
        kept = _DAY if body.get("prompt_cache_retention") == "24h" else _FIVE_MINUTES
        self._seen[key] = [*seen, (now + kept, blocks)]
        return read, max(0, self._kept(_tokens(blocks), model) - read), 0

    @abstractmethod
    def _kept(self, tokens: int, model: str) -> int:
        """Of so many tokens at the beginning, those that a provider would keep."""


class _OpenAI(_Prefix):
    def _kept(self, tokens: int, model: str) -> int:
        if tokens < _OPENAI_FIRST:
            return 0
        return tokens - (tokens - _OPENAI_FIRST) % _OPENAI_STEP


class _Google(_Prefix):
    def _kept(self, tokens: int, model: str) -> int:
        return tokens if tokens >= _least(_GEMINI_LEAST, model, 4096) else 0


def _least(known: Sequence[tuple[re.Pattern[str], int]], model: str, usual: int) -> int:
    return next((tokens for name, tokens in known if name.match(model)), usual)


def _shared(old: Sequence[_Block], new: Sequence[_Block]) -> int:
    """Bytes that two requests have in common at their beginning."""
    shared = 0
    for one, other in zip(old, new, strict=False):
        if one.text != other.text:
            pairs = zip(one.text.encode(), other.text.encode(), strict=False)
            return shared + next((n for n, (a, b) in enumerate(pairs) if a != b), 0)
        shared += one.bytes
    return shared


# -- bodies as what the model reads, in the order in which it does --------------------------------


def _anthropic(body: Mapping[str, Any]) -> Iterator[_Block]:
    tools = body.get("tools") or ()
    # Read where a result refers to them, and nowhere else.
    later = {tool["name"]: tool for tool in tools if tool.get("defer_loading")}
    blocks = [
        *_each("tools", [tool for tool in tools if not tool.get("defer_loading")]),
        *_each("system", body.get("system")),
        *(
            part
            for number, message in enumerate(body.get("messages") or ())
            for part in _each(
                f"messages[{number}]", _loaded(message["content"], later), message["role"]
            )
        ),
    ]
    if body.get("cache_control") and blocks:
        last = blocks[-1]
        blocks[-1] = _Block(last.place, last.text, _mark(body["cache_control"]))
    yield from blocks


def _loaded(content: Any, later: Mapping[str, Any]) -> Any:
    """The content with the tools in the place of references to them."""
    if not later or isinstance(content, str):
        return content
    return [
        {**block, "content": [later.get(one.get("tool_name"), one) for one in block["content"]]}
        if isinstance(block.get("content"), list)
        else block
        for block in content
    ]


def _each(place: str, found: Any, role: str = "") -> Iterator[_Block]:
    if found is None:
        return
    for number, one in enumerate([found] if isinstance(found, str) else found):
        plain = dict(one) if isinstance(one, Mapping) else {"text": one}
        marked = plain.pop("cache_control", None)
        yield _Block(f"{place}[{number}]", role + _json(plain), _mark(marked) if marked else "")


def _mark(control: Mapping[str, Any]) -> str:
    return str(control.get("ttl") or "5m")


def _openai(body: Mapping[str, Any]) -> Iterator[_Block]:
    yield from _each("tools", body.get("tools"))
    yield from _each("instructions", body.get("instructions"))
    yield from _each("input", body.get("input"))
    yield from _each("messages", body.get("messages"))


def _google(body: Mapping[str, Any]) -> Iterator[_Block]:
    system = body.get("systemInstruction") or body.get("system_instruction")
    yield from _each("systemInstruction", None if system is None else [system])
    for number, tool in enumerate(body.get("tools") or ()):
        declared = tool.get("functionDeclarations")
        yield from _each(f"tools[{number}]", [tool] if declared is None else declared)
    yield from _each("contents", body.get("contents"))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


_RULES: dict[str, Any] = {"anthropic": _Anthropic, "openai": _OpenAI, "google": _Google}
_BLOCKS: dict[str, Any] = {"anthropic": _anthropic, "openai": _openai, "google": _google}
