"""One taxonomy for what goes wrong at a provider: every failure becomes a `ModelError` with a reason."""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from urllib.parse import urlsplit

from toolwright._retry_after import retry_after
from toolwright.errors import ModelError
from toolwright.models._secrets import hidden

__all__ = [
    "broken_off",
    "model_error",
    "not_a_reply",
    "parsing",
    "reading",
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
    code: object = None,
    status: int | None = None,
    reason: str | None = None,
    headers: Mapping[str, str] | None = None,
    url: object = None,
) -> ModelError:
    """The error for what `provider` answered; secrets that it echoed are taken out.

    The response's headers may say whether and when to try again; of the request's URL the server's
    address is named.
    """
    headers = headers or {}
    # Whatever a server puts there: numbers for codes, objects for texts.
    message, code = str(message), None if code is None else str(code)
    reason = reason or _reason(message, code, status)
    cure = f" ({_cure(reason, status)})" if _cure(reason, status) else ""
    return ModelError(
        f"{provider}: {hidden(message)[:_LONGEST]}{_from(url)}{cure}",
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
    return model_error(provider, f"cannot reach {_address(url)}: {detail}", reason="connection")


def not_a_reply(
    provider: str,
    found: str,
    shown: str | None = None,
    *,
    url: object = None,
    status: int | None = None,
) -> ModelError:
    """The error for an answer that is no reply of the protocol: mostly, `base_url` is wrong."""
    came = "" if status is None else f"HTTP {status}, "
    quoted = "" if shown is None else f" {_shortened(shown)!r}"
    asked = "" if url is None else f"; {_path(url)!r} was asked"
    message = (
        f"this is no reply of a model: {came}{found}{quoted}{_from(url)} ({_ELSEWHERE}{asked})"
    )
    return model_error(provider, message, reason="protocol", status=status)


def broken_off(
    provider: str,
    what: str,
    shown: str | None = None,
    *,
    url: object = None,
    status: int | None = None,
) -> ModelError:
    """The error for a reply of which only a beginning came; asking again may help."""
    quoted = f", after {_shortened(shown)!r}" if shown else ""
    message = f"the connection broke off: {what}{quoted}"
    return model_error(provider, message, reason="connection", status=status, url=url)


@contextmanager
def parsing(provider: str, url: object) -> Iterator[None]:
    """Turn what the JSON of an answer is refused with into a `ModelError`."""
    try:
        yield
    except json.JSONDecodeError as error:
        if _BEGINS_WELL.match(error.doc) or "data:".startswith(error.doc.strip()):
            what = f"its JSON is not whole ({error.msg} at {error.pos})"
            raise broken_off(provider, what, error.doc, url=url, status=200) from error
        raise not_a_reply(provider, "not JSON but", error.doc, url=url, status=200) from error
    except UnicodeDecodeError as error:
        shown = error.object[:_SHOWN].decode(errors="replace")
        if "unexpected end" in error.reason and _BEGINS_WELL.match(shown):
            raise broken_off(provider, "it ends in a character", shown, url=url) from error
        raise not_a_reply(provider, "not UTF-8:", shown, url=url, status=200) from error
    except UnicodeEncodeError:
        raise  # of the request
    except ValueError as error:
        what = f"JSON that cannot be read ({_shortened(str(error))})"
        raise not_a_reply(provider, what, url=url, status=200) from error
    except RecursionError as error:
        what = "JSON that is nested too deep to be read"
        raise not_a_reply(provider, what, url=url, status=200) from error


@contextmanager
def reading(provider: str, answer: object = None, url: object = None) -> Iterator[None]:
    """Turn what an answer of another shape makes our reading raise into a `ModelError`."""
    try:
        yield
    except _OTHER_SHAPE as error:
        what = f"JSON of another shape ({type(error).__name__}: {_shortened(str(error))})"
        shown = None if answer is None else json.dumps(answer, ensure_ascii=False, default=str)
        raise not_a_reply(provider, what, shown, url=url, status=200) from error


def _shortened(shown: str) -> str:
    """The first characters of what came, on one line, without the secrets in it."""
    line = " ".join(hidden(shown)[: 4 * _SHOWN].split())
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}…"


def _path(url: object) -> str:
    """The path that was asked, to compare with; what could be a key in it is left out."""
    parts = urlsplit(str(url)).path.split("/")
    return "/".join("…" if len(part) > _LONGEST_SEGMENT else part for part in parts)


def _from(url: object) -> str:
    return "" if url is None else f" [{_address(url)}]"


def _address(url: object) -> str:
    """Without a user's password, and without a path or query that may hold a key."""
    parts = urlsplit(str(url))
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def _reason(message: str, code: str | None, status: int | None) -> str:
    by_code = _BY_CODE.get((code or "").lower())
    if by_code in (None, "bad_request") and _TOO_LONG.search(message):
        return "context_too_long"
    if by_code:
        return by_code
    if status is None and code and code.isdigit():
        status = int(code)  # some compatible servers put it there
    if status is None:
        return "unknown"
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    return "server" if status >= 500 else "bad_request"


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait, given as a number or as a date."""
    milliseconds = retry_after(headers.get("retry-after-ms"))
    return retry_after(headers.get("retry-after")) if milliseconds is None else milliseconds / 1000
