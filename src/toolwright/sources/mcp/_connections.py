"""The connections of one toolset: one for each set of headers and each user who signs in."""

import inspect
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

import httpx2

from toolwright.backends.sandboxes import ServerSandbox
from toolwright.concurrency import close_all
from toolwright.errors import UsageError
from toolwright.messages import AuthConfig
from toolwright.sources._reopening import Reopening
from toolwright.sources._secret_names import hide_secrets
from toolwright.sources._started import hold_started
from toolwright.sources.mcp._auth import CredentialAuth
from toolwright.sources.mcp._hidden import HidingAuth, SentSecrets
from toolwright.sources.mcp._link import Link, linked
from toolwright.sources.mcp._params import ConnectionParams, StdioConnectionParams
from toolwright.sources.mcp._questions import Questions
from toolwright.tools import ReadonlyContext

__all__ = ["Connections", "HeaderProvider"]

HeaderProvider = Callable[[ReadonlyContext], Mapping[str, str] | Awaitable[Mapping[str, str]]]
"""Gives the headers for whoever the context belongs to."""
_MOST = 1000
"""Connections kept at a time; the one that was not used for longest goes first."""


class Connections:
    """Finds the connection that belongs to a context, opening it on first use.

    A session with a server belongs to whoever opened it, so users with other headers or other
    credentials never share one.
    """

    def __init__(
        self,
        params: ConnectionParams,
        name: str,
        questions: Callable[[], Questions],
        *,
        header_provider: HeaderProvider | None = None,
        auth_config: AuthConfig | None = None,
        auth: httpx2.Auth | None = None,
        sandbox: ServerSandbox | None = None,
    ) -> None:
        if isinstance(params, StdioConnectionParams) and (header_provider or auth_config or auth):
            raise UsageError(
                "A server over stdio has no headers; give it its secrets with "
                "StdioServerParameters(env=…)."
            )
        if sandbox is not None and not isinstance(params, StdioConnectionParams):
            raise UsageError(
                f"A sandbox is for servers that are started here, over stdio; {params.label!r} is "
                "only connected to."
            )
        if isinstance(params, StdioConnectionParams) and sandbox is None:
            server = params.server_params
            # Started again, it is the same program, whatever PATH has by then.
            found = hold_started(server.command, server.args, server.cwd, server.env)
            server = server.model_copy(update={"command": found or server.command})
            params = replace(params, server_params=server)
        self._params = params
        self._sandbox = sandbox
        self._name = name
        self._questions = questions
        self._header_provider = header_provider
        self._auth_config = auth_config
        self._auth = auth
        self._open: OrderedDict[tuple[str, ...], _Connection] = OrderedDict()

    async def get(self, context: ReadonlyContext | None) -> Link:
        """The link for this context; raises `Unavailable` while the server cannot be reached."""
        headers = await self._headers(context)
        hide_secrets(context, headers)
        if self._header_provider is None and self._auth_config is None:
            return await self._connection((), headers, None).link_for(context)
        key = (*(f"{name}: {value}" for name, value in sorted(headers.items())), self._who(context))
        connection = self._connection(key, headers, context)
        while len(self._open) > _MOST:
            _, oldest = self._open.popitem(last=False)
            # Nobody else knows of it any more: a cancelled caller must not leave it open.
            await close_all([oldest.reopening.close])
        return await connection.link_for(context)

    def _connection(
        self, key: tuple[str, ...], headers: dict[str, str], context: ReadonlyContext | None
    ) -> "_Connection":
        if key not in self._open:
            self._open[key] = self._make(headers, context)
        self._open.move_to_end(key)
        return self._open[key]

    async def close(self) -> None:
        """Close them all."""
        opened, self._open = list(self._open.values()), OrderedDict()
        await close_all([connection.reopening.close for connection in opened])

    def _make(self, headers: dict[str, str], context: ReadonlyContext | None) -> "_Connection":
        sent = SentSecrets()
        auth = CredentialAuth(context, self._auth_config, sent) if self._auth_config else self._auth
        auth = HidingAuth(auth, sent) if auth is not None else None
        questions = self._questions()
        open_one = partial(
            linked, self._params, self._name, questions, headers, auth, self._sandbox
        )
        return _Connection(Reopening(open_one, self._name, self._params.timeout), sent)

    def _fixed_headers(self) -> dict[str, str]:
        if isinstance(self._params, StdioConnectionParams):
            return {}
        return dict(self._params.headers or {})

    async def _headers(self, context: ReadonlyContext | None) -> dict[str, str]:
        headers = self._fixed_headers()
        if self._header_provider is not None and context is not None:
            given = self._header_provider(context)
            headers.update(await given if inspect.isawaitable(given) else given)
        return headers

    def _who(self, context: ReadonlyContext | None) -> str:
        if self._auth_config is None or context is None:
            return ""
        scope = context.run.scope
        return f"{scope.app_name}/{scope.user_id}"


@dataclass(frozen=True, slots=True)
class _Connection:
    """A connection, and what it has sent that nobody may see."""

    reopening: Reopening[Link]
    sent: SentSecrets

    async def link_for(self, context: ReadonlyContext | None) -> Link:
        """The link, opened if need be, once the context's run knows what to hide."""
        if context is not None:
            self.sent.hide_in(context)
        return await self.reopening.get()
