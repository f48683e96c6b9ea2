"""One bearer token for the API; the page trades it for a cookie that scripts cannot read."""

import hashlib
import hmac

from starlette.datastructures import Headers
from starlette.requests import Request, cookie_parser
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from toolwright.serve._problems import ProblemError, problem_response

__all__ = ["TokenCheck", "sign_in", "sign_out"]

_COOKIE = "toolwright"
_OPEN = ("/api/sign-in", "/api/health")
_MONTH = 30 * 24 * 3600


class TokenCheck:
    """Asks for the token wherever data is; the page's own files and signed links are open."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self.app = app
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse the request, or pass it on."""
        if scope["type"] != "http" or not _is_guarded(scope["path"]) or self._knows(scope):
            await self.app(scope, receive, send)
            return
        detail = "Send the token printed at start as 'Authorization: Bearer …', or sign in."
        headers = {"WWW-Authenticate": "Bearer"}
        await problem_response(401, detail, headers=headers)(scope, receive, send)

    def _knows(self, scope: Scope) -> bool:
        headers = Headers(scope=scope)
        scheme, _, given = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and _same(given.strip(), self._token):
            return True
        cookie = cookie_parser(headers.get("cookie", "")).get(_COOKIE, "")
        return _same(cookie, _cookie_value(self._token))


def sign_in(request: Request, given: str, token: str | None) -> Response:
    """Trade the token for the cookie."""
    if token is not None and not _same(given, token):
        raise ProblemError(403, "That is not the token printed when the server started.")
    response = Response(status_code=204)
    if token is not None:
        response.set_cookie(
            _COOKIE,
            _cookie_value(token),
            max_age=_MONTH,
            httponly=True,
            samesite="strict",
            secure=request.url.scheme == "https",
        )
    return response


def sign_out() -> Response:
    """Take the cookie back."""
    response = Response(status_code=204)
    response.delete_cookie(_COOKIE, httponly=True, samesite="strict")
    return response


def _is_guarded(path: str) -> bool:
    return path.startswith(("/api", "/agui", "/mcp")) and path not in _OPEN


def _cookie_value(token: str) -> str:
    """Proves that its bearer knew the token, without being it."""
    return hmac.new(token.encode(), b"toolwright page cookie", hashlib.sha256).hexdigest()


def _same(given: str, wanted: str) -> bool:
    return hmac.compare_digest(given.encode(), wanted.encode())
