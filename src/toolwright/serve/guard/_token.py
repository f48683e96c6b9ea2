"""One bearer token for the API; the page trades it for a cookie that scripts cannot read."""

import hashlib
import hmac

from starlette.datastructures import Headers
from starlette.requests import Request, cookie_parser
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from toolwright.serve._problems import ProblemError, problem_response
from toolwright.serve._settings import check_token

__all__ = ["TokenCheck", "knows_token", "shown_reason", "sign_in", "sign_out"]

_MONTH = 30 * 24 * 3600


class TokenCheck:
    """Lets nobody pass without the token. It stands before what it guards, and looks at no path."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        check_token(token)
        self.app = app
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse the request, or pass it on."""
        if scope["type"] == "lifespan" or knows_token(Headers(scope=scope), self._token):
            await self.app(scope, receive, send)
            return
        detail = "Send the token printed at start as 'Authorization: Bearer …', or sign in."
        headers = {"WWW-Authenticate": "Bearer"}
        await problem_response(401, detail, headers=headers)(scope, receive, send)


def knows_token(headers: Headers, token: str) -> bool:
    """Whether a request has the token, or the cookie it was traded for."""
    scheme, _, given = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and _same(given.strip(), token):
        return True
    cookie = cookie_parser(headers.get("cookie", "")).get(_cookie_name(token), "")
    return _same(cookie, _cookie_value(token))


def shown_reason(why: str, headers: Headers, token: str | None) -> str:
    """The reason of a failure; only its kind for those who have not shown the token."""
    return why if token is None or knows_token(headers, token) else why.partition(":")[0]


def sign_in(request: Request, given: str, token: str | None) -> Response:
    """Trade the token for the cookie."""
    if token is not None and not _same(given, token):
        raise ProblemError(403, "That is not the token printed when the server started.")
    response = Response(status_code=204)
    if token is not None:
        response.set_cookie(
            _cookie_name(token),
            _cookie_value(token),
            max_age=_MONTH,
            httponly=True,
            samesite="strict",
            secure=request.url.scheme == "https",
        )
    return response


def sign_out(token: str | None) -> Response:
    """Take the cookie back."""
    response = Response(status_code=204)
    if token is not None:
        response.delete_cookie(_cookie_name(token), httponly=True, samesite="strict")
    return response


def _cookie_name(token: str) -> str:
    """Its own for each token, so that two servers on one host do not take each other's cookie.

    A path could not keep them apart: behind a proxy that removes a part of it, no server knows
    the path that the browser sees.
    """
    return f"toolwright-{_digest(token, 'page cookie name')[:12]}"


def _cookie_value(token: str) -> str:
    """Proves that its bearer knew the token, without being it."""
    return _digest(token, "page cookie")


def _digest(token: str, purpose: str) -> str:
    return hmac.new(token.encode(), f"toolwright {purpose}".encode(), hashlib.sha256).hexdigest()


def _same(given: str, wanted: str) -> bool:
    return hmac.compare_digest(given.encode(), wanted.encode())
