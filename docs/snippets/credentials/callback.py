import hashlib
import hmac
import secrets
from collections.abc import Callable

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from toolwright import Runner, UsageError

ANOTHER_BROWSER = (
    "This sign-in was not begun in this browser, or it is over. Nothing was changed. "
    "Go back to the chat and press 'Sign in' there."
)
NO_STORE = {"Cache-Control": "no-store", "Referrer-Policy": "no-referrer"}


def create_app(runner: Runner, user_of: Callable[[Request], str | None]) -> Starlette:
    """`user_of` reads your own session: who is logged in to your application in this browser."""
    key = secrets.token_bytes(32)  # With several processes: one secret that they share.

    def seal(user: str, state: str) -> str:
        return hmac.new(key, f"{len(user)}:{user}{state}".encode(), hashlib.sha256).hexdigest()

    def cookie_name(state: str) -> str:
        # One for each sign-in, so that two tabs do not overwrite each other's.
        return f"sign-in-{hashlib.sha256(state.encode()).hexdigest()[:16]}"

    async def begin(request: Request) -> Response:
        user = user_of(request)
        waiting = await runner.pending(f"chat-{user}") if user else []
        asked = [p.payload for p in waiting if p.kind == "credential" and p.payload.get("auth_uri")]
        if user is None or not asked:
            return PlainTextResponse("Nothing waits for you to sign in.", 404, NO_STORE)
        reply = RedirectResponse(asked[0]["auth_uri"], 303, NO_STORE)
        reply.set_cookie(
            cookie_name(asked[0]["state"]),
            seal(user, asked[0]["state"]),
            max_age=3600,
            path=f"{request.scope.get('root_path', '')}/sign-in",
            secure=request.url.scheme == "https",
            httponly=True,
            samesite="lax",  # "strict" cookies do not come along from the provider's page.
        )
        return reply

    async def callback(request: Request) -> Response:
        # Link previews and prefetching browsers must not use the sign-in up.
        if request.method != "GET" or "prefetch" in request.headers.get("sec-purpose", ""):
            return Response(status_code=503, headers=NO_STORE)
        user, states = user_of(request), request.query_params.getlist("state")
        state = states[0] if len(states) == 1 else ""
        given = request.cookies.get(cookie_name(state), "")
        if user is None or not hmac.compare_digest(given.encode(), seal(user, state).encode()):
            return PlainTextResponse(ANOTHER_BROWSER, 403, NO_STORE)
        try:
            sessions = await runner.answer_sign_in(str(request.url), user_id=user)
        except UsageError:  # It has no code, for example. The call still waits.
            return PlainTextResponse(ANOTHER_BROWSER, 400, NO_STORE)
        for session in sessions:  # Redeems the code, and checks `iss`, nonce and ID token.
            await runner.resume(session)
        # To an address of your own, never to one from the query; the code is left behind.
        reply = RedirectResponse(f"{request.scope.get('root_path', '')}/", 303, NO_STORE)
        reply.delete_cookie(
            cookie_name(state), path=f"{request.scope.get('root_path', '')}/sign-in"
        )
        return reply

    return Starlette(
        routes=[Route("/sign-in", begin), Route("/sign-in/callback", callback)],
    )
