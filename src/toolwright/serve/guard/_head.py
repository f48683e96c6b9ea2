"""How long the head of a request may be: all that is done before the token is seen is bounded by it."""

from starlette.types import ASGIApp, Receive, Scope, Send

from toolwright.serve._patience import MAX_HEAD
from toolwright.serve._problems import problem_response

__all__ = ["HeadLimit"]


class HeadLimit:
    """Refuses requests whose path, query and headers together are longer than `MAX_HEAD`."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse the request, or pass it on."""
        length = _length(scope) if scope["type"] == "http" else 0
        if length > MAX_HEAD:
            detail = (
                f"The path, query and headers of this request have {length} bytes; at most "
                f"{MAX_HEAD} are read. Send long values in the body."
            )
            await problem_response(431, detail)(scope, receive, send)
        else:
            await self.app(scope, receive, send)


def _length(scope: Scope) -> int:
    headers = sum(len(name) + len(value) for name, value in scope["headers"])
    return len(scope["path"]) + len(scope.get("query_string", b"")) + headers
