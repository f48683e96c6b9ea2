"""Get what is at a URL: bounded in size and time, and from public addresses only."""

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import anyio

from toolwright._charset import decode_text
from toolwright._sealed import sealed
from toolwright.backends._network import Reachable, guarded_client
from toolwright.errors import ToolError

try:
    import httpx2
except ImportError as error:
    raise ImportError("Web access needs an extra: pip install 'toolwright[web]'") from error

__all__ = ["Fetch", "Fetched"]

_USER_AGENT = "Mozilla/5.0 (compatible; toolwright)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """What was at a URL."""

    url: str
    """Where it was found in the end, after redirects."""
    status: int
    content_type: str
    """Without parameters, in lower case: `text/html`."""
    charset: str | None
    data: bytes = field(repr=False)
    truncated: bool = False
    """Whether there was more than the limit."""

    @property
    def text(self) -> str:
        """The data as text, in the encoding that the server, a mark or the page itself names."""
        return decode_text(self.data, self.charset, is_cut=self.truncated)


@sealed
@dataclass(frozen=True, slots=True, kw_only=True)
class Fetch:
    """Fetches URLs. Private addresses are refused unless they are in `allow_private`."""

    allow_private: Sequence[str] | Reachable = ()
    """Host names, addresses and networks (`10.0.0.0/8`) that may be reached though not public.

    Or a `Reachable`, which can have a resolver of its own.
    """
    max_bytes: int = 10 * 1024 * 1024
    timeout: float = 30.0
    """Seconds for everything, redirects included."""
    max_redirects: int = 10

    def __post_init__(self) -> None:
        Reachable.of(self.allow_private)  # an entry that is wrong is told now

    async def get(self, url: str, params: Mapping[str, str] | None = None) -> Fetched:
        """What is at `url`, whatever its status; `ToolError` when it cannot be reached."""
        headers = {"User-Agent": _USER_AGENT, "Accept-Encoding": "gzip"}
        client = guarded_client(self.allow_private, timeout=self.timeout, headers=headers)
        try:
            with anyio.fail_after(self.timeout):
                async with client:
                    first = client.build_request("GET", _checked(url), params=params)
                    return await self._follow(client, first)
        except TimeoutError as error:
            raise ToolError(f"{url!r} did not answer within {self.timeout:g} seconds.") from error
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            reason = str(error) or type(error).__name__
            raise ToolError(f"{url!r} could not be fetched: {reason}.") from error

    async def _follow(self, client: httpx2.AsyncClient, request: httpx2.Request) -> Fetched:
        """What is where the redirects lead. Their own bodies, which nobody wants, are not read."""
        for _ in range(self.max_redirects + 1):
            response = await client.send(request, stream=True)
            try:
                if response.next_request is None:
                    return await self._read(response)
                request = response.next_request
            finally:
                await response.aclose()
        raise httpx2.TooManyRedirects(f"it redirects more than {self.max_redirects} times")

    async def _read(self, response: httpx2.Response) -> Fetched:
        inflater = _Inflater(response.headers.get("Content-Encoding", ""), self.max_bytes)
        async for chunk in response.aiter_raw():
            if not inflater.feed(chunk):
                break
        kind, _, _ = response.headers.get("Content-Type", "").partition(";")
        return Fetched(
            url=str(response.url),
            status=response.status_code,
            content_type=kind.strip().lower(),
            charset=response.charset_encoding,
            data=bytes(inflater.data),
            truncated=inflater.full,
        )


class _Inflater:
    """Collects a body up to a limit, unpacking it: a small body can unpack to any size."""

    def __init__(self, encoding: str, limit: int) -> None:
        if encoding.lower() not in ("", "identity", "gzip", "x-gzip", "deflate"):
            raise ToolError(
                f"The server answered in an encoding it was not asked for: {encoding!r}."
            )
        packed = encoding.lower() not in ("", "identity")
        self._unpack = zlib.decompressobj(wbits=47) if packed else None
        self._limit = limit
        self.data = bytearray()
        self.full = False

    def feed(self, chunk: bytes) -> bool:
        """Take more; False once the limit is reached."""
        room = self._limit - len(self.data)
        try:
            more = self._unpack.decompress(chunk, room + 1) if self._unpack else chunk[: room + 1]
        except zlib.error as error:
            raise ToolError(f"The server's answer cannot be unpacked: {error}.") from error
        self.data += more[:room]
        self.full = len(more) > room
        return not self.full


def _checked(url: str) -> str:
    """`url`, if it is one that may be fetched."""
    parsed = httpx2.URL(url)
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise ToolError(f"{url!r} is not a web address; give one that starts with https://.")
    return url
