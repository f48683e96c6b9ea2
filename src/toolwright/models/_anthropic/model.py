"""Anthropic's models over the Messages API."""

from contextlib import aclosing
from dataclasses import replace
from typing import Any

from toolwright._sealed import Sealed
from toolwright.messages import ModelMessage
from toolwright.models._anthropic.body import BodyMaker
from toolwright.models._anthropic.client import (
    AsyncAnthropic,
    as_model_errors,
    client_maker,
    is_own,
    post,
    post_streamed,
    server_of,
)
from toolwright.models._anthropic.stream import StreamedMessage
from toolwright.models._anthropic.traits import traits_of
from toolwright.models._anthropic.wire import read_message
from toolwright.models._ask import Retries, ask
from toolwright.models._errors import ended_early, model_error, reading
from toolwright.models._model import ModelRequest, OnDelta
from toolwright.models._per_loop import PerLoop
from toolwright.models._secrets import Secrets

__all__ = ["AnthropicModel"]


_PAUSES = ("pause_turn", "compaction")
"""Why a reply ends that is not at its end."""
_MOST_PAUSES = 50


class AnthropicModel(Sealed):
    """A Claude model. Newer ones have no temperature and no top_p; there they are ignored.

    `loads_tools` says whether a result can refer to tools that the server then loads; if unset,
    models that are known to do so at Anthropic's own address.
    """

    def __init__(
        self,
        model: str,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        client: AsyncAnthropic | None = None,
        retries: Retries | None = None,
        loads_tools: bool | None = None,
    ) -> None:
        self._model = model
        self._retries = retries or Retries()
        address = base_url if client is None else client.base_url
        self._server = server_of(address)
        if loads_tools is None:
            loads_tools = is_own(address) and traits_of(model).loads_tools
        self._bodies = BodyMaker(model, self._server, loads_tools=loads_tools)
        self._secrets = Secrets(self.name)
        if client is not None:
            self._secrets.hold_client(client)
            self._client = PerLoop(lambda: client, owned=False)
        else:
            self._client = PerLoop(client_maker(self.name, api_key, base_url, self._secrets))

    @property
    def name(self) -> str:
        """`anthropic:` and the model."""
        return f"anthropic:{self._model}"

    async def respond(self, request: ModelRequest, on_delta: OnDelta | None = None) -> ModelMessage:
        """Answer with the next turn; see `Model.respond`."""
        body = self._bodies.make(request)
        reply = await self._ask(body, request, on_delta)
        # A long run of server tools comes in pieces: the reply so far is sent back to get the rest.
        for _ in range(_MOST_PAUSES):
            if not reply.meta.get("paused"):
                return reply
            more = {**body, "messages": [*body["messages"], *self._bodies.convert(reply)]}
            reply = _joined(reply, await self._ask(more, request, on_delta))
        # Not to be sent again: that would be as many requests once more.
        what = f"the reply paused {_MOST_PAUSES} times without an end"
        url = self._client.get().base_url
        raise model_error(self.name, what, reason="unknown", status=200, url=url)

    async def close(self) -> None:
        """Close the connections of the running event loop; a client that was given stays open."""
        client = self._client.forget()
        if client is not None:
            await client.close()

    async def _ask(
        self, body: dict[str, Any], request: ModelRequest, on_delta: OnDelta | None
    ) -> ModelMessage:
        whole = request.whole_calls

        async def send(listen: OnDelta | None) -> ModelMessage:
            with as_model_errors(self.name):
                if listen is None:
                    return await self._whole(body)
                return await self._streamed(body, StreamedMessage(listen, whole_calls=whole))

        return await ask(
            send,
            on_delta,
            name=self.name,
            secrets=self._secrets,
            timeout=request.settings.timeout,
            retries=self._retries,
            server=self._server,
        )

    async def _whole(self, body: dict[str, Any]) -> ModelMessage:
        return self._read(await post(self._client.get(), body, self.name))

    async def _streamed(self, body: dict[str, Any], streamed: StreamedMessage) -> ModelMessage:
        async with aclosing(post_streamed(self._client.get(), body, self.name)) as events:
            async for event in events:
                if event.get("type") == "message":  # the server does not stream
                    return self._read(event)
                with reading(self.name, event):
                    streamed.hear(event)
        if not streamed.ended:
            raise ended_early(self.name, strange=streamed.is_strange)
        with reading(self.name):
            message = streamed.message()
        return self._read(message)

    def _read(self, reply: Any) -> ModelMessage:
        with reading(self.name, reply):
            return _read(reply, self.name)


def _read(reply: dict[str, Any], name: str) -> ModelMessage:
    message = read_message(reply, name)
    if reply.get("stop_reason") not in _PAUSES:
        return message
    return replace(message, meta={**message.meta, "paused": True})


def _joined(first: ModelMessage, rest: ModelMessage) -> ModelMessage:
    """One turn of two replies; the second goes on where the first paused."""
    citations = [*_citations(first), *_citations(rest)]
    meta = {**rest.meta, "citations": citations} if any(citations) else rest.meta
    parts = first.parts + rest.parts
    return replace(rest, parts=parts, usage=first.usage + rest.usage, meta=meta)


def _citations(message: ModelMessage) -> list[Any]:
    texts = sum(part.kind == "text" for part in message.parts)
    return message.meta.get("citations") or [None] * texts
