"""Send a request: time limits, another try when the server asks for it, redirects within its origin."""

import ssl
from collections.abc import Collection
from dataclasses import dataclass
from http.cookiejar import CookieJar, DefaultCookiePolicy
from pathlib import Path
from typing import Literal

import anyio
import httpx2
from anyio.lowlevel import RunVar

from toolwright._retry_after import retry_after
from toolwright._sealed import sealed
from toolwright.backends import Reachable, guarded_transport
from toolwright.errors import ToolError, UsageError

__all__ = ["Api", "CallLimits", "SslVerify", "read_ssl"]

SslVerify = bool | str | Path | ssl.SSLContext | None
_MAX_REDIRECTS = 5
_TRY_AGAIN = (429, 503)
# About how the content travelled, which is over once it was read.
_FRAMING = (b"content-encoding", b"content-length", b"transfer-encoding")
_SAFE_TO_REPEAT = ("GET", "HEAD", "OPTIONS", "PUT", "DELETE", "TRACE", "QUERY")


@sealed
@dataclass(frozen=True, slots=True, kw_only=True)
class CallLimits:
    """How long, how often and how much."""

    timeout: float = 30.0
    """Seconds for connecting, and for each wait on the server."""
    deadline: float = 300.0
    """Seconds for the whole call, redirects and further tries included."""
    retries: int = 2
    """How often a 429 or 503 is tried again."""
    longest_wait: float = 30.0
    """Seconds; a server that asks for a longer wait is not tried again."""
    max_response_bytes: int = 20_000_000
    redirects: Literal["same-origin", "any", "none"] = "same-origin"


def read_ssl(verify: SslVerify) -> bool | ssl.SSLContext:
    """What `ssl_verify` stands for: a path is a file or a folder of certificates to trust."""
    if isinstance(verify, str | Path):
        path = Path(verify)
        try:
            if path.is_dir():
                return ssl.create_default_context(capath=path)
            return ssl.create_default_context(cafile=path)
        except OSError as error:
            raise UsageError(f"ssl_verify={str(path)!r} cannot be used: {error}") from error
    return True if verify is None else verify


class Api:
    """Connections to one API, kept open between calls and never shared between event loops."""

    def __init__(
        self, *, reachable: Reachable, verify: bool | ssl.SSLContext, limits: CallLimits
    ) -> None:
        self._reachable = reachable
        self._verify = verify
        self.limits = limits
        self._client: RunVar[httpx2.AsyncClient | None] = RunVar("client", None)

    async def send(self, request: httpx2.Request, secrets: Collection[str]) -> httpx2.Response:
        """The answer, read to its end. `secrets` are headers that must not go to another origin."""
        host, limits = request.url.host, self.limits
        try:
            with anyio.fail_after(limits.deadline):
                return await self._send_on(request, secrets)
        except httpx2.TimeoutException as error:
            late = f"{host} did not answer within {limits.timeout:g} s."
            raise ToolError(late, outcome_unknown=_may_be_sent(error)) from error
        except TimeoutError as error:
            late = f"{host} was not done within {limits.deadline:g} s."
            raise ToolError(late, outcome_unknown=True) from error
        except httpx2.DecodingError as error:
            broken = f"{host} sent an answer that cannot be unpacked: {error!s:.300}."
            raise ToolError(broken, outcome_unknown=True) from error
        except httpx2.TransportError as error:
            gone = f"{host} could not be reached: {error}."
            raise ToolError(gone, outcome_unknown=_may_be_sent(error)) from error

    async def _send_on(self, request: httpx2.Request, secrets: Collection[str]) -> httpx2.Response:
        """Follow redirects as far as allowed; the last answer counts."""
        response = await self._send_patiently(request)
        for _ in range(_MAX_REDIRECTS):
            following = response.next_request
            if following is None or not self._may_follow(request, following):
                return response
            if not _same_origin(request, following):
                for name in secrets:
                    following.headers.pop(name, None)
            response = await self._send_patiently(following)
        raise ToolError(f"{request.url.host} redirects more than {_MAX_REDIRECTS} times.")

    async def close(self) -> None:
        """Close this event loop's connections."""
        client = self._client.get()
        if client is not None:
            self._client.set(None)
            await client.aclose()

    async def _send_patiently(self, request: httpx2.Request) -> httpx2.Response:
        for attempt in range(self.limits.retries):
            response = await self._send_once(request)
            wait = _wanted_wait(response, attempt)
            if wait is None or wait > self.limits.longest_wait:
                return response
            await anyio.sleep(wait)
        return await self._send_once(request)

    async def _send_once(self, request: httpx2.Request) -> httpx2.Response:
        streamed = await self._open_client().send(request, stream=True)
        try:
            content = await self._read(streamed)
        finally:
            await streamed.aclose()
        # As bytes: what a server sends need not be text.
        headers = [(k, v) for k, v in streamed.headers.raw if k.lower() not in _FRAMING]
        response = httpx2.Response(
            streamed.status_code, headers=headers, content=content, request=request
        )
        response.next_request = streamed.next_request
        return response

    async def _read(self, response: httpx2.Response) -> bytes:
        chunks, size, most = [], 0, self.limits.max_response_bytes
        async for chunk in response.aiter_bytes():
            size += len(chunk)
            if size > most:
                raise ToolError(
                    f"The answer is larger than {most:,} bytes. Ask for less, "
                    "for example with a filter or a smaller page."
                )
            chunks.append(chunk)
        return b"".join(chunks)

    def _open_client(self) -> httpx2.AsyncClient:
        client = self._client.get()
        if client is None:
            client = httpx2.AsyncClient(
                transport=guarded_transport(self._reachable, verify=self._verify),
                timeout=self.limits.timeout,
                # Cookies set for one user must not be sent for the next one.
                cookies=CookieJar(policy=DefaultCookiePolicy(allowed_domains=[])),
            )
            self._client.set(client)
        return client

    def _may_follow(self, request: httpx2.Request, following: httpx2.Request) -> bool:
        if self.limits.redirects == "same-origin":
            return _same_origin(request, following)
        return self.limits.redirects == "any"


def _may_be_sent(error: httpx2.TransportError) -> bool:
    """Whether a request that failed may have reached the other side."""
    before = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)
    return not isinstance(error, before)


def _same_origin(one: httpx2.Request, other: httpx2.Request) -> bool:
    def origin(url: httpx2.URL) -> tuple[str, str, int]:
        return url.scheme, url.host, url.port or (443 if url.scheme == "https" else 80)

    return origin(one.url) == origin(other.url)


def _wanted_wait(response: httpx2.Response, attempt: int) -> float | None:
    """Seconds until the server wants to be asked again; None when it should not be."""
    if response.status_code not in _TRY_AGAIN:
        return None
    wait = retry_after(response.headers.get("Retry-After"))
    if wait is not None:
        return wait
    return 0.5 * 2**attempt if response.request.method in _SAFE_TO_REPEAT else None
