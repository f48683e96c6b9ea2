"""One taxonomy for what goes wrong at a provider: every failure becomes a `ModelError` with a reason."""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from urllib.parse import urlsplit

from toolwright._retry_after import retry_after
from toolwright.errors import ModelError
from toolwright.models._exchange import exchange
from toolwright.models._secrets import hidden

__all__ = [
    "broken_off",
    "ended_early",
    "model_error",
    "not_a_reply",
    "parsing",
    "reading",
    "reason_of",
    "unreachable",
]

_BY_CODE = {
    "authentication_error": "auth",
    "permission_error": "auth",
    "invalid_api_key": "auth",
    "unauthenticated": "auth",
    "permission_denied": "auth",
    "billing_error": "quota",
    "insufficient_quota": "quota",
    "rate_limit_error": "rate_limit",
    "rate_limit_exceeded": "rate_limit",
    "resource_exhausted": "rate_limit",
    "overloaded_error": "overloaded",
    "unavailable": "overloaded",
    "timeout_error": "timeout",
    "deadline_exceeded": "timeout",
    "vector_store_timeout": "timeout",
    "api_error": "server",
    "server_error": "server",
    "internal": "server",
    "context_length_exceeded": "context_too_long",
    "request_too_large": "context_too_long",
    "content_filter": "refused",
    "content_policy_violation": "refused",
    "image_content_policy_violation": "refused",
    "bio_policy": "refused",
    "misalignment_policy_violation": "refused",
    "invalid_request_error": "bad_request",
    "invalid_prompt": "bad_request",
    "not_found_error": "bad_request",
    "model_not_found": "bad_request",
    "invalid_argument": "bad_request",
    "not_found": "bad_request",
}
_BY_STATUS = {
    401: "auth",
    402: "quota",
    403: "auth",
    408: "timeout",
    409: "server",
    413: "context_too_long",
    429: "rate_limit",
    503: "overloaded",
    504: "timeout",
    529: "overloaded",
}
_TOO_LONG = re.compile(
    r"prompt is too long|context (length|window|size)|maximum context|"
    r"token count .{0,100} exceeds|too many (input )?tokens",
    re.I,
)
_STATUS = re.compile(r"[45][0-9]{2}")
_RETRYABLE = frozenset({"rate_limit", "overloaded", "timeout", "connection", "server"})
_LONGEST = 1_000
"""A proxy may answer with a whole page of HTML."""
_BEGINS_WELL = re.compile(r"\s*(?:[{\[]|(?:data|event|id|retry)?:)")
"""Like JSON, or like a line of a stream."""
_SHOWN = 200
"""Of what came in place of a reply."""
_LONGEST_SEGMENT = 20
"""Of an address's path: a longer one may be a key."""
_OTHER_SHAPE = (LookupError, TypeError, ValueError, AttributeError)
"""What reading raises where the other side's JSON has another shape than its protocol says; our own
parts refuse it with a `SettingError`, which is a `TypeError`."""
_ELSEWHERE = "check base_url, and whether a proxy answers in the server's place"
_NOT_THERE = (404, 405)
_SHOULD_RETRY = {"true": True, "false": False}
_CURES = {
    "auth": "check the API key and what it may use",
    "quota": "the account has no credit left; add some, or use another key",
    "context_too_long": "shorten the history (compaction does that) or the tool outputs",
}


def model_error(
    provider: str,
    message: object,
    *,
    codes: tuple[object, ...] = (),
    status: int | None = None,
    reason: str | None = None,
    cure: str | None = None,
    headers: Mapping[str, str] | None = None,
    url: object = None,
) -> ModelError:
    """The error for what `provider` answered; secrets that it echoed are taken out.

    The response's headers may say whether and when to try again. The address and the status are
    those of the request that is being made, unless they are given.
    """
    headers = headers or {}
    message = str(message)  # whatever a server puts there
    status = exchange().status if status is None else status
    reason = reason or reason_of(message, codes, status)
    cure = cure or _cure(reason, status)
    return ModelError(
        f"{provider}: {hidden(message)[:_LONGEST]}{_from(url, message)}{f' ({cure})' if cure else ''}",
        # An empty account answers like a rate limit, but waiting does not help.
        reason="rate_limit" if reason == "quota" else reason,
        retryable=_SHOULD_RETRY.get(headers.get("x-should-retry", ""), reason in _RETRYABLE),
        status=status,
        retry_after=_retry_after(headers),
    )


def _cure(reason: str, status: int | None) -> str | None:
    if reason == "bad_request" and status in _NOT_THERE:
        return "check the model's name and base_url"
    return _CURES.get(reason)


def unreachable(provider: str, url: object, detail: str) -> ModelError:
    """The error for a server that cannot be connected to; it names the server's address."""
    message = f"cannot reach {_address(url)}: {detail}"
    return model_error(provider, message, reason="connection", url=url)


def not_a_reply(
    provider: str, found: str, shown: str | None = None, *, status: int | None = None
) -> ModelError:
    """The error for an answer that is no reply of the protocol: mostly, `base_url` is wrong."""
    url = exchange().url
    quoted = f" {_shortened(shown)!r}" if shown else ""
    asked = "" if url is None else f"; {_path(url)!r} was asked"
    message = f"this is no reply of a model: {_came(status)}{found}{quoted}"
    cure = f"{_ELSEWHERE}{asked}"
    return model_error(provider, message, reason="protocol", status=status, cure=cure)


def broken_off(provider: str, what: str, *, url: object = None) -> ModelError:
    """The error for a reply of which only a beginning came; asking again may help."""
    begins = exchange().begins.strip()
    quoted = f", after {_shortened(begins)!r}" if begins else ""
    message = f"the connection broke off: {_came()}{what}{quoted}"
    return model_error(provider, message, reason="connection", url=url)


def ended_early(provider: str, *, strange: bool) -> ModelError:
    """The error for a stream that ends before its reply does.

    A `strange` one had events, and none of this protocol: there the rest would not help either.
    """
    if strange:
        return not_a_reply(provider, "JSON of another shape:", exchange().begins)
    return broken_off(provider, "the stream ended before the reply did")


def _came(status: int | None = None) -> str:
    status = exchange().status if status is None else status
    return "" if status is None else f"HTTP {status}, "


@contextmanager
def parsing(provider: str) -> Iterator[None]:
    """Turn what the JSON of an answer is refused with into a `ModelError`."""
    try:
        yield
    except json.JSONDecodeError as error:
        if _BEGINS_WELL.match(error.doc) or "data:".startswith(error.doc.strip()):
            what = f"its JSON is not whole ({error.msg} at {error.pos})"
            raise broken_off(provider, what) from error
        raise not_a_reply(provider, "not JSON but", error.doc) from error
    except UnicodeDecodeError as error:
        shown = error.object[:_SHOWN].decode(errors="replace")
        if "unexpected end" in error.reason and _BEGINS_WELL.match(shown):
            raise broken_off(provider, "it ends in a character") from error
        raise not_a_reply(provider, "not UTF-8:", shown) from error
    except UnicodeEncodeError:
        raise  # of the request
    except ValueError as error:
        what = f"JSON that cannot be read ({_shortened(str(error))})"
        raise not_a_reply(provider, what, exchange().begins) from error
    except RecursionError as error:
        what = "JSON that is nested too deep to be read"
        raise not_a_reply(provider, what, exchange().begins) from error


@contextmanager
def reading(provider: str, answer: object = None) -> Iterator[None]:
    """Turn what an answer of another shape makes our reading raise into a `ModelError`."""
    try:
        yield
    except _OTHER_SHAPE as error:
        what = f"JSON of another shape ({type(error).__name__}: {_shortened(str(error))})"
        shown = exchange().begins
        if answer is not None:
            shown = json.dumps(answer, ensure_ascii=False, default=str)
        raise not_a_reply(provider, what, shown) from error


def _shortened(shown: str) -> str:
    """The first characters of what came, on one line, without the secrets in it."""
    line = " ".join(hidden(shown)[: 4 * _SHOWN].split())
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}…"


def _path(url: object) -> str:
    """The path that was asked, to compare with; what could be a key in it is left out."""
    parts = urlsplit(str(url)).path.split("/")
    return "/".join("…" if len(part) > _LONGEST_SEGMENT else part for part in parts)


def _from(url: object, message: str) -> str:
    url = exchange().url if url is None else url
    return "" if url is None or _address(url) in message else f" [{_address(url)}]"


def _address(url: object) -> str:
    """Without a user's password, and without a path or query that may hold a key."""
    parts = urlsplit(str(url))
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def reason_of(message: str, codes: tuple[object, ...], status: int | None = None) -> str:
    """Why a request failed: by the first code that is known, else by the status."""
    words = [str(code).lower() for code in codes if code is not None]
    by_code = next((_BY_CODE[word] for word in words if word in _BY_CODE), None)
    if by_code in (None, "bad_request") and _TOO_LONG.search(message):
        return "context_too_long"
    if by_code:
        return by_code
    # Some compatible servers put the status where the code should be.
    numbers = [status or 0, *(int(word) for word in words if _STATUS.fullmatch(word))]
    failed = next((number for number in numbers if number >= 400), None)
    if failed is None:
        return "unknown"
    if failed in _BY_STATUS:
        return _BY_STATUS[failed]
    return "server" if failed >= 500 else "bad_request"


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait, given as a number or as a date."""
    milliseconds = retry_after(headers.get("retry-after-ms"))
    return retry_after(headers.get("retry-after")) if milliseconds is None else milliseconds / 1000
