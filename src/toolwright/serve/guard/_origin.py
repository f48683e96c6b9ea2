"""Only this server's own page and programs may call it: no other site, no rebound name."""

from collections.abc import Sequence

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from toolwright.serve._problems import problem_response
from toolwright.serve._settings import check_hosts, host_name, is_loopback

__all__ = ["SameSiteOnly"]

_PORTS = {"http": ":80", "https": ":443"}


class SameSiteOnly:
    """Checks `Host` against DNS rebinding, `Origin` and `Sec-Fetch-Site` against forged requests."""

    def __init__(self, app: ASGIApp, allowed_hosts: Sequence[str]) -> None:
        check_hosts(allowed_hosts)
        self.app = app
        self._allowed = {name.lower() for name in allowed_hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse the request, or pass it on."""
        refusal = None
        if scope["type"] == "http":
            refusal = self._refusal(Headers(scope=scope), scope["method"], scope["scheme"])
        if refusal:
            await problem_response(403, refusal)(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    def _refusal(self, headers: Headers, method: str, scheme: str) -> str | None:
        host = headers.get("host", "")
        if not self._is_allowed(host):
            return f"This server is not called {host!r}; allow the name with allowed_hosts."
        origin = headers.get("origin")
        if origin and not _is_here(origin, host, scheme):
            return f"Requests from {origin!r} are refused; open this server's own page."
        elsewhere = headers.get("sec-fetch-site") in ("cross-site", "same-site")
        if elsewhere and not _is_visit(headers, method):
            return "Requests made by another site's page are refused."
        return None

    def _is_allowed(self, host: str) -> bool:
        if "*" in self._allowed:
            return True
        name = host_name(host)
        return name in self._allowed or is_loopback(name)


def _is_here(origin: str, host: str, scheme: str) -> bool:
    """Whether it is this server's own; TLS may end at a proxy before it, but not on this machine."""
    own = [scheme] if is_loopback(host_name(host)) else [scheme, "https"]
    return any(_short(origin, known) == _short(f"{known}://{host}", known) for known in own)


def _short(origin: str, scheme: str) -> str:
    """An origin without the port that its scheme has anyway: browsers leave it out, proxies may not."""
    return origin.lower().removesuffix(_PORTS.get(scheme, ""))


def _is_visit(headers: Headers, method: str) -> bool:
    """A person who follows a link to this server, as from an e-mail."""
    return method in ("GET", "HEAD") and headers.get("sec-fetch-mode") == "navigate"
