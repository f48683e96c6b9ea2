"""One bearer token for the API; the page trades it for a cookie that scripts cannot read."""

import hashlib
import hmac
import math
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from toolwright.serve._problems import ProblemError, problem_response
from toolwright.serve._settings import check_token
from toolwright.serve.guard._rate import Buckets, client_of

__all__ = ["Door", "TokenCheck", "shown_reason"]

_MONTH = 30 * 24 * 3600
_MOST_SIGNED_IN = 1000
_GUESSES = 5
_GUESSES_PER_SECOND = 0.1
_SLOWER = "Too many wrong tokens from this address; try again in {wait:.0f} s."


class Door:
    """Knows who has shown the token: whoever sends it, and pages that have traded it for a cookie.

    A cookie is known to this server alone, until it is given back or the server ends.
    """

    def __init__(self, token: str, clock: Callable[[], float] = time.monotonic) -> None:
        check_token(token)
        self._token = token
        self._clock = clock
        self._signed_in: OrderedDict[str, float] = OrderedDict()
        """Digests of cookies, and when each expires."""
        self._guesses = Buckets(_GUESSES_PER_SECOND, _GUESSES, clock)
        self._cookie_name = _cookie_name(token)

    def knows(self, scope: Scope) -> bool:
        """Whether a request has a cookie that the token was traded for, or the token.

        A wrong token is a guess. While its address has to wait for the next one, no token from there
        is looked at, so that the wait costs the guesser; the cookies work on.
        """
        headers = Headers(scope=scope)
        if self._expiry(self._cookie(headers)) > self._clock():
            return True
        given = _bearer(headers)
        return bool(given) and self._is_right(given, client_of(scope))

    def refusal(self, scope: Scope) -> Response | None:
        """None for a request that may pass; else the answer to it."""
        wait = self._guesses.wait(client_of(scope))
        if self.knows(scope):
            return None
        if wait and _bearer(Headers(scope=scope)):
            return _slower(wait)
        detail = "Send the token printed at start as 'Authorization: Bearer …', or sign in."
        return problem_response(401, detail, headers={"WWW-Authenticate": "Bearer"})

    def sign_in(self, request: Request, given: str) -> Response:
        """Trade the token for a cookie."""
        client = client_of(request.scope)
        if wait := self._guesses.wait(client):
            return _slower(wait)
        if not self._is_right(given, client):
            raise ProblemError(403, "That is not the token printed when the server started.")
        cookie = secrets.token_urlsafe(32)
        self._signed_in[_digest(cookie)] = self._clock() + _MONTH
        if len(self._signed_in) > _MOST_SIGNED_IN:
            self._signed_in.popitem(last=False)
        response = Response(status_code=204)
        response.set_cookie(
            self._cookie_name,
            cookie,
            max_age=_MONTH,
            httponly=True,
            samesite="strict",
            secure=request.url.scheme == "https",
        )
        return response

    def sign_out(self, request: Request) -> Response:
        """Take the cookie back: whoever has a copy of it is out as well."""
        self._signed_in.pop(_digest(self._cookie(request.headers)), None)
        response = Response(status_code=204)
        response.delete_cookie(self._cookie_name, httponly=True, samesite="strict")
        return response

    def _is_right(self, given: str, client: str) -> bool:
        """Whether it is the token: the only place that compares it, and so the one that counts."""
        if self._guesses.wait(client):
            return False
        if hmac.compare_digest(given.encode(), self._token.encode()):
            return True
        self._guesses.take(client)
        return False

    def _expiry(self, cookie: str) -> float:
        # By digest: how long a look-up takes says nothing about the cookies there are.
        return self._signed_in.get(_digest(cookie), -math.inf)

    def _cookie(self, headers: Headers) -> str:
        # Not by the standard library's parser, which takes quadratic time for a quoted value.
        found = ""
        for one in headers.get("cookie", "").split(";"):
            name, _, value = one.partition("=")
            if name.strip() == self._cookie_name:
                found = value.strip()
        return found


class TokenCheck:
    """Lets nobody pass whom the door does not know. It stands before what it guards, and looks at no
    path."""

    def __init__(self, app: ASGIApp, door: Door) -> None:
        self.app = app
        self._door = door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse the request, or pass it on."""
        refused = None if scope["type"] == "lifespan" else self._door.refusal(scope)
        await (refused or self.app)(scope, receive, send)


def shown_reason(why: str, scope: Scope, door: Door | None) -> str:
    """The reason of a failure; only its kind for those who have not shown the token."""
    return why if door is None or door.knows(scope) else why.partition(":")[0]


def _bearer(headers: Headers) -> str:
    scheme, _, given = headers.get("authorization", "").partition(" ")
    return given.strip() if scheme.lower() == "bearer" else ""


def _slower(wait: float) -> Response:
    headers = {"Retry-After": str(math.ceil(wait))}
    return problem_response(429, _SLOWER.format(wait=math.ceil(wait)), headers=headers)


def _cookie_name(token: str) -> str:
    """Its own for each token, so that two servers on one host do not take each other's cookie.

    A path could not keep them apart: behind a proxy that removes a part of it, no server knows the
    path that the browser sees.
    """
    name = hmac.new(token.encode(), b"toolwright page cookie name", hashlib.sha256).hexdigest()
    return f"toolwright-{name[:12]}"


def _digest(cookie: str) -> str:
    return hashlib.sha256(cookie.encode()).hexdigest()
