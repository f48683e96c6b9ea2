"""Gemini models, over the Gemini API or Vertex AI."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any, cast

import anyio

from toolwright._sealed import Sealed
from toolwright.messages import ModelMessage, user_message
from toolwright.models._ask import Retries, ask
from toolwright.models._errors import model_error
from toolwright.models._exchange import exchange
from toolwright.models._gemini.client import (
    Connection,
    as_model_errors,
    connector,
    server_of,
    types,
    wants_vertex,
)
from toolwright.models._gemini.config import ConfigMaker
from toolwright.models._gemini.reply import Reply
from toolwright.models._gemini.side import SideRequests
from toolwright.models._gemini.tools import Plan, plan_tools
from toolwright.models._gemini.traits import generation_of
from toolwright.models._gemini.wire import Wire, as_wire, converter
from toolwright.models._model import ModelRequest, OnDelta
from toolwright.models._per_loop import PerLoop
from toolwright.models._secrets import Secrets

__all__ = ["GeminiModel", "vertex_model"]

_SIDE_ROUNDS = 8
AskModel = Callable[[Sequence[Wire], OnDelta | None], Awaitable[ModelMessage]]
"""Ask for the turn that follows the request's history and these contents."""


class GeminiModel(Sealed):
    """A Gemini model.

    `vertex=True` asks Vertex AI, with the project's credentials; the default asks the Gemini API
    with a key, unless GOOGLE_GENAI_USE_VERTEXAI says otherwise. Pass a `client` (a
    `google.genai.Client`) for anything special.
    """

    def __init__(
        self,
        model: str,
        *,
        api_key: str | None = None,
        vertex: bool | None = None,
        project: str | None = None,
        location: str | None = None,
        base_url: str | None = None,
        client: Any = None,
        retries: Retries | None = None,
    ) -> None:
        self._model = model
        if client is not None:
            vertex = bool(client.vertexai)
        self._vertex = wants_vertex() if vertex is None else vertex
        self._provider = "vertex" if self._vertex else "google"
        self._server = server_of(self._provider, base_url, client)
        self._secrets = Secrets(self.name)
        if client is not None:
            self._secrets.hold_client(client)
            self._connection = PerLoop(lambda: Connection(client), owned=False)
        else:
            self._connection = PerLoop(
                connector(
                    self.name,
                    vertex=self._vertex,
                    api_key=api_key,
                    project=project,
                    location=location,
                    base_url=base_url,
                    secrets=self._secrets,
                )
            )
        self._newer = generation_of(model) >= 3
        self._convert = converter(self._provider, self._server, newer=self._newer)
        self._configs = ConfigMaker(model, vertex=self._vertex)
        self._retries = retries or Retries()

    @property
    def name(self) -> str:
        """`google:` or `vertex:` and the model."""
        return f"{self._provider}:{self._model}"

    async def respond(self, request: ModelRequest, on_delta: OnDelta | None = None) -> ModelMessage:
        """Answer with the next turn; see `Model.respond`."""
        plan = self._plan(request)
        config = self._configs.make(request, plan)
        contents = list(chain.from_iterable(request.history.converted(self._convert)))
        tools = self._configs.tools(request, plan)
        body = ({"tools": tools} if tools else {}) | request.settings.given

        async def ask_model(more: Sequence[Wire], listen: OnDelta | None) -> ModelMessage:
            asked = {"contents": [*contents, *more], **body}
            return await self._ask(asked, config, request.settings.timeout, listen)

        if not plan.side:
            return await ask_model((), on_delta)
        side = SideRequests(
            self._provider, plan.side, partial(self._ask_apart, request.settings.timeout)
        )
        return await self._ask_and_answer(ask_model, side, on_delta)

    async def close(self) -> None:
        """Close the connections of the running event loop; a client that was given stays open."""
        connection = self._connection.forget()
        if connection is not None:
            await connection.close()

    def _plan(self, request: ModelRequest) -> Plan:
        if not request.server_tools:
            return Plan()
        return plan_tools(
            self.name,
            request.server_tools,
            functions=[tool.name for tool in request.tools],
            mixes=self._newer,
            vertex=self._vertex,
        )

    # -- one request --------------------------------------------------------------------------

    async def _ask(
        self,
        body: dict[str, Any],
        config: types.GenerateContentConfig,
        timeout: float | None,
        on_delta: OnDelta | None,
    ) -> ModelMessage:
        # The conversation and the tools are handed over ready-made: the SDK would walk through
        # all of them each turn. What it is given as contents is only a placeholder.
        extra = types.HttpOptions(extra_body=body)
        asked = {
            "model": self._model,
            "contents": "",
            "config": config.model_copy(update={"http_options": extra}),
        }

        async def send(listen: OnDelta | None) -> ModelMessage:
            with as_model_errors(self.name):
                reply = await (
                    self._whole(asked) if listen is None else self._streamed(asked, listen)
                )
            return reply.message(self.name, f"google:{self._model}")

        return await ask(
            send,
            on_delta,
            name=self.name,
            secrets=self._secrets,
            timeout=timeout,
            retries=self._retries,
            server=self._server,
        )

    async def _whole(self, asked: dict[str, Any]) -> Reply:
        reply = Reply(self._provider)
        reply.hear(await self._connection.get().client.aio.models.generate_content(**asked))
        return reply

    async def _streamed(self, asked: dict[str, Any], listen: OnDelta) -> Reply:
        reply = Reply(self._provider, listen)
        models = self._connection.get().client.aio.models
        stream = cast(AsyncGenerator[Any, None], await models.generate_content_stream(**asked))
        try:
            async with aclosing(stream) as chunks:
                async for chunk in chunks:
                    reply.hear(chunk)
        finally:
            await _let_go()
        return reply

    # -- server tools in requests of their own ------------------------------------------------

    async def _ask_and_answer(
        self, ask_model: AskModel, side: SideRequests, on_delta: OnDelta | None
    ) -> ModelMessage:
        """Ask until the model calls no more server tools, answering those calls on the way."""
        so_far: ModelMessage | None = None
        for _ in range(_SIDE_ROUNDS):
            listen = None if on_delta is None else side.listener(on_delta)
            turn = await ask_model([] if so_far is None else self._convert(so_far), listen)
            answered = await side.answer(turn)
            so_far = answered if so_far is None else _joined(so_far, answered)
            if not side.wants(turn) or so_far.calls:
                return so_far
        what = f"after {_SIDE_ROUNDS} rounds the model still only calls server tools"
        raise model_error(self.name, what)

    async def _ask_apart(
        self, timeout: float | None, question: str, tool: types.Tool
    ) -> ModelMessage:
        body = {"contents": self._convert(user_message(question)), "tools": [as_wire(tool)]}
        return await self._ask(body, types.GenerateContentConfig(), timeout, None)


async def _let_go() -> None:
    """Close the connection of a stream that was left: the SDK's generators would do it much later."""
    close = exchange().close
    if close is not None:
        with anyio.CancelScope(shield=True):
            await close()


def _joined(before: ModelMessage, turn: ModelMessage) -> ModelMessage:
    """One message of what was said and answered before, and of the turn that followed."""
    meta = {**before.meta, **turn.meta}
    if "side_grounding" in before.meta:
        meta["side_grounding"] = [
            *before.meta["side_grounding"],
            *turn.meta.get("side_grounding", ()),
        ]
    usage = before.usage + turn.usage
    return replace(turn, parts=before.parts + turn.parts, usage=usage, meta=meta)


def vertex_model(model: str) -> GeminiModel:
    """A Gemini model on Vertex AI, with the project and location of the environment."""
    return GeminiModel(model, vertex=True)
