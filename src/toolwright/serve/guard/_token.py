"""One bearer token for the API; the page trades it for a cookie that scripts cannot read."""

import hashlib
import hmac
import math
import secrets
import time
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
_MOST_SIGNED_OUT = 10_000
_GUESSES = 5
_GUESSES_PER_SECOND = 0.1
_SLOWER = "Too many wrong tokens from this address; try again in {wait:.0f} s."


class Door:
    """Knows who has shown the token: whoever sends it, and pages that have traded it for a cookie.

    A cookie says when it was made and is signed with the token, so every door with the same token
    and `realm` that was there by then takes it, in whichever process. That it was given back only
    the door knows that was told; it takes none from before its own time, so no restart forgets it.
    """

    def __init__(
        self,
        token: str,
        *,
        realm: str = "page",
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
    ) -> None:
        check_token(token)
        self._token = token
        self._realm = realm
        self._now = now
        self._since = _milliseconds(now())
        """When the oldest cookie may have been made."""
        self._signed_out: dict[str, int] = {}
        """Cookies that were given back, and when each was made."""
        self._guesses = Buckets(_GUESSES_PER_SECOND, _GUESSES, clock)

    def knows(self, scope: Scope) -> bool:
        """Whether a request has a cookie that the token was traded for, or the token.

        A wrong token is a guess. While its address has to wait for the next one, no token from there
        is looked at, so that the wait costs the guesser; the cookies work on.
        """
        headers = Headers(scope=scope)
        if self._made(self._cookie(headers)) is not None:
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
        # A clock that was set back meanwhile must not make cookies of before this door's time.
        made = max(self._since, _milliseconds(self._now()))
        content = f"{made}.{secrets.token_urlsafe(24)}"
        response = Response(status_code=204)
        response.set_cookie(
            self._cookie_name,
            f"{content}.{self._signature(content)}",
            max_age=_MONTH,
            httponly=True,
            samesite="strict",
            secure=request.url.scheme == "https",
        )
        return response

    def sign_out(self, request: Request) -> Response:
        """Take the cookie back: whoever has a copy of it is out as well."""
        cookie = self._cookie(request.headers)
        if (made := self._made(cookie)) is not None:
            self._signed_out[cookie] = made
            self._forget_old()
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

    def _made(self, cookie: str) -> int | None:
        """When a cookie was made, if it lets its page in."""
        content, _, signature = cookie.rpartition(".")
        if not hmac.compare_digest(signature.encode(), self._signature(content).encode()):
            return None
        made = int(content.partition(".")[0])
        is_old = made < max(self._since, _milliseconds(self._now() - _MONTH) + 1)
        return None if is_old or cookie in self._signed_out else made

    def _forget_old(self) -> None:
        """Keep few enough cookies that were given back: below the oldest of them, all are refused."""
        if len(self._signed_out) > _MOST_SIGNED_OUT:
            oldest = min(self._signed_out, key=self._signed_out.__getitem__)
            self._since = max(self._since, self._signed_out.pop(oldest) + 1)

    def _signature(self, content: str) -> str:
        return self._derived(f"toolwright {self._realm} cookie: {content}")

    def _cookie(self, headers: Headers) -> str:
        # Not by the standard library's parser, which takes quadratic time for a quoted value.
        found, wanted = "", self._cookie_name
        for one in headers.get("cookie", "").split(";"):
            name, _, value = one.partition("=")
            if name.strip() == wanted:
                found = value.strip()
        return found

    @property
    def _cookie_name(self) -> str:
        """Its own for each token, so that two servers on one host do not take each other's cookie.

        A path could not keep them apart: behind a proxy that removes a part of it, no server knows
        the path that the browser sees.
        """
        return f"toolwright-{self._derived(f'toolwright {self._realm} cookie name')[:12]}"

    def _derived(self, purpose: str) -> str:
        return hmac.new(self._token.encode(), purpose.encode(), hashlib.sha256).hexdigest()


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


def _milliseconds(seconds: float) -> int:
    return int(seconds * 1000)
