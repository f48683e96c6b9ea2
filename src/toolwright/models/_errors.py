"""One taxonomy for what goes wrong at a provider: every failure becomes a `ModelError` with a reason."""

import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from toolwright._retry_after import retry_after
from toolwright.errors import ModelError
from toolwright.messages import redact

__all__ = ["model_error", "unreachable"]

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
    r"token count .* exceeds|too many (input )?tokens",
    re.I,
)
_RETRYABLE = frozenset({"rate_limit", "overloaded", "timeout", "connection", "server"})
_LONGEST = 1_000
"""A proxy may answer with a whole page of HTML."""
_SHOULD_RETRY = {"true": True, "false": False}
_CURES = {
    "auth": "check the API key and what it may use",
    "quota": "the account has no credit left; add some, or use another key",
    "context_too_long": "shorten the history (compaction does that) or the tool outputs",
}


def model_error(
    provider: str,
    message: str,
    *,
    code: str | None = None,
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
    reason = reason or _reason(message, code, status)
    cure = f" ({_CURES[reason]})" if reason in _CURES else ""
    return ModelError(
        f"{provider}: {redact(message[:_LONGEST])}{_from(url)}{cure}",
        # An empty account answers like a rate limit, but waiting does not help.
        reason="rate_limit" if reason == "quota" else reason,
        retryable=_SHOULD_RETRY.get(headers.get("x-should-retry", ""), reason in _RETRYABLE),
        status=status,
        retry_after=_retry_after(headers),
    )


def unreachable(provider: str, url: object, detail: str) -> ModelError:
    """The error for a server that cannot be connected to; it names the server's address."""
    return model_error(provider, f"cannot reach {_address(url)}: {detail}", reason="connection")


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
