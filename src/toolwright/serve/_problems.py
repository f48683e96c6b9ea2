"""Errors as `application/problem+json`: what was found, what was wanted, what to do next."""

import logging
from typing import Any

from pydantic import BaseModel, TypeAdapter, ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from toolwright.errors import (
    ArgumentError,
    LimitError,
    ModelError,
    StoreConflict,
    StoreError,
    ToolError,
    ToolwrightError,
    UsageError,
)
from toolwright.messages import redact, to_wire

__all__ = ["HANDLERS", "MEDIA_TYPE", "Problem", "ProblemError", "problem_response"]

MEDIA_TYPE = "application/problem+json"
_log = logging.getLogger(__name__)


class Problem(BaseModel):
    """Why a request was refused."""

    status: int
    title: str
    detail: str
    issues: list[str] = []
    """One line per field, when the request's body or query did not fit."""


_PROBLEM = TypeAdapter(Problem)


class ProblemError(Exception):
    """Ends a request with a problem."""

    def __init__(self, status: int, detail: str, issues: list[str] | None = None) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.issues = issues or []


_TITLES = {
    400: "Bad request",
    401: "Not signed in",
    403: "Refused",
    404: "Not found",
    405: "Method not allowed",
    408: "Too slow",
    409: "Conflict",
    410: "Too late",
    413: "Too large",
    415: "Unsupported media type",
    422: "Does not fit",
    429: "Too many requests",
    431: "Head too large",
    500: "Failed",
    502: "The model failed",
    503: "Unavailable",
}
_STATUS_OF: tuple[tuple[type[Exception], int], ...] = (
    (ArgumentError, 422),
    (ToolError, 422),
    (UsageError, 400),
    (LimitError, 429),
    (ModelError, 502),
    (StoreConflict, 409),
    (StoreError, 503),
    (ToolwrightError, 500),
)


def problem_response(
    status: int, detail: str, issues: list[str] | None = None, headers: dict[str, str] | None = None
) -> Response:
    """The response for one problem."""
    title = _TITLES.get(status, "Failed")
    body = Problem(status=status, title=title, detail=redact(detail), issues=issues or [])
    return Response(to_wire(_PROBLEM, body), status, headers, MEDIA_TYPE)


def _from_problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, ProblemError)
    return problem_response(error.status, error.detail, error.issues)


def _from_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    detail = error.detail
    if error.status_code == 404:
        detail = f"There is nothing at {request.url.path!r}; see /api/openapi.json."
    return problem_response(error.status_code, detail, None, dict(error.headers or {}))


def _from_validation(request: Request, error: Exception) -> Response:
    assert isinstance(error, ValidationError)
    return problem_response(422, "The request does not fit its schema.", _issues(error))


def _issues(error: ValidationError) -> list[str]:
    return [
        f"{'.'.join(map(str, issue['loc'])) or 'body'}: {issue['msg']}" for issue in error.errors()
    ]


def _from_library(request: Request, error: Exception) -> Response:
    status = next(status for kind, status in _STATUS_OF if isinstance(error, kind))
    if status >= 500:
        _log.error("%s %s failed: %s", request.method, request.url.path, error)
    issues = list(error.issues) if isinstance(error, ArgumentError) else None
    return problem_response(status, str(error), issues)


def _from_bug(request: Request, error: Exception) -> Response:
    _log.error("%s %s failed", request.method, request.url.path, exc_info=error)
    return problem_response(500, f"{type(error).__name__}; the server's log has the details.")


HANDLERS: dict[Any, Any] = {
    ProblemError: _from_problem,
    HTTPException: _from_http,
    ValidationError: _from_validation,
    ToolwrightError: _from_library,
    Exception: _from_bug,
}
