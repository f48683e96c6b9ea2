"""Anthropic's models over the Messages API."""

import re
from dataclasses import replace
from itertools import chain
from typing import Any

from toolwright.errors import ModelError, UsageError
from toolwright.messages import ModelMessage, ServerTool
from toolwright.models._anthropic.client import (
    AsyncAnthropic,
    anthropic,
    as_model_errors,
    client_maker,
)
from toolwright.models._anthropic.stream import StreamedMessage
from toolwright.models._anthropic.wire import read_message, to_messages, to_tool
from toolwright.models._ask import Retries, ask
from toolwright.models._by_identity import ByIdentity
from toolwright.models._model import ModelRequest, ModelSettings, OnDelta
from toolwright.models._per_loop import PerLoop
from toolwright.models._sendable import sendable_text
from toolwright.models._server_tools import no_equivalent

__all__ = ["AnthropicModel"]

_CACHE = {"type": "ephemeral"}
_BUDGETS = {"low": 2_048, "medium": 8_192, "high": 24_576}
"""Thinking tokens, for models that are told a number."""
_TOLD_A_BUDGET = re.compile(r"claude-(3|(opus|sonnet)-4(-[0-5])?(-\d{8})?$|haiku-4)")
"""Models from before adaptive thinking."""
_MAX_TOKENS = ((re.compile(r"claude-3-5"), 8_192), (re.compile(r"claude-3-(?!7)"), 4_096))
_DEFAULT_MAX_TOKENS = 32_000
_TIMEOUT = 600.0
_SERVER_TOOLS = {
    "google_search": {"type": "web_search_20250305", "name": "web_search"},
    "web_search": {"type": "web_search_20250305", "name": "web_search"},
    "url_context": {"type": "web_fetch_20250910", "name": "web_fetch"},
    "web_fetch": {"type": "web_fetch_20250910", "name": "web_fetch"},
    "code_execution": {"type": "code_execution_20250825", "name": "code_execution"},
}


class AnthropicModel:
    """A Claude model.

    Temperature, top_p and seed are ignored: the API no longer has them.
    """

    def __init__(
        self,
        model: str,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        client: AsyncAnthropic | None = None,
        retries: Retries | None = None,
    ) -> None:
        self._model = model
        self._retries = retries or Retries()
        self._tools = ByIdentity(lambda specs: [to_tool(spec) for spec in specs])
        self._output_schemas = ByIdentity(_output_schema)
        self._client = PerLoop(
            client_maker(api_key, base_url) if client is None else lambda: client
        )

    @property
    def name(self) -> str:
        """`anthropic:` and the model."""
        return f"anthropic:{self._model}"

    async def respond(self, request: ModelRequest, on_delta: OnDelta | None = None) -> ModelMessage:
        """Answer with the next turn; see `Model.respond`."""
        body = self._body(request)
        reply = await self._ask(body, request, on_delta)
        # A long run of server tools comes in pieces: the reply so far is sent back to get the rest.
        while reply.meta.get("paused"):
            more = {**body, "messages": [*body["messages"], *to_messages(reply)]}
            reply = _joined(reply, await self._ask(more, request, on_delta))
        return reply

    async def close(self) -> None:
        """Close the connections of the running event loop."""
        client = self._client.forget()
        if client is not None:
            await client.close()

    async def _ask(
        self, body: dict[str, Any], request: ModelRequest, on_delta: OnDelta | None
    ) -> ModelMessage:
        async def send(listen: OnDelta | None) -> ModelMessage:
            with as_model_errors(self.name):
                return await (self._whole(body) if listen is None else self._streamed(body, listen))

        return await ask(send, on_delta, timeout=request.settings.timeout, retries=self._retries)

    async def _whole(self, body: dict[str, Any]) -> ModelMessage:
        reply = await self._client.get().messages.create(**_as_it_is(body), timeout=_TIMEOUT)
        return _read(reply.to_dict(mode="json"), self.name)

    async def _streamed(self, body: dict[str, Any], listen: OnDelta) -> ModelMessage:
        stream = await self._client.get().messages.create(
            **_as_it_is(body), stream=True, timeout=_TIMEOUT
        )
        streamed = StreamedMessage(listen)
        async with stream:
            async for event in stream:
                streamed.hear(event.to_dict(mode="json"))
        if not streamed.ended:
            raise ModelError(
                f"{self.name}: the stream ended before the message did.",
                reason="connection",
                retryable=True,
            )
        return _read(streamed.message(), self.name)

    # -- the request --------------------------------------------------------------------------

    def _body(self, request: ModelRequest) -> dict[str, Any]:
        settings = request.settings
        body: dict[str, Any] = {
            "model": self._model,
            "max_tokens": self._max_tokens(settings),
            "messages": list(chain.from_iterable(request.history.converted(to_messages))),
            **self._prefix(request),
            **self._effort(request),
        }
        if settings.stop:
            body["stop_sequences"] = list(settings.stop)
        if settings.cache_prompt:
            body["cache_control"] = _CACHE  # the end of the conversation so far
        return body | settings.extra

    def _prefix(self, request: ModelRequest) -> dict[str, Any]:
        """Tools and instructions: what stays the same from turn to turn, with a cache mark."""
        mark = {"cache_control": _CACHE} if request.settings.cache_prompt else {}
        prefix: dict[str, Any] = {}
        tools = [*self._tools(request.tools), *map(self._server_tool, request.server_tools)]
        if request.instructions:
            instructions = sendable_text(request.instructions)
            prefix["system"] = [{"type": "text", "text": instructions, **mark}]
        elif tools:
            tools[-1] = {**tools[-1], **mark}
        if tools:
            prefix["tools"] = tools
            prefix |= _tool_choice(request.settings)
        return prefix

    def _server_tool(self, tool: ServerTool) -> dict[str, Any]:
        known = _SERVER_TOOLS.get(tool.name)
        if known is None:
            raise no_equivalent(self.name, tool, _SERVER_TOOLS)
        return {**known, **tool.settings}

    def _effort(self, request: ModelRequest) -> dict[str, Any]:
        """Thinking, and the form of the output."""
        reasoning = request.settings.reasoning
        chosen: dict[str, Any] = {}
        output: dict[str, Any] = {}
        if reasoning == "none":
            chosen["thinking"] = {"type": "disabled"}
        elif reasoning is not None and _TOLD_A_BUDGET.match(self._model):
            chosen |= _thinking_budget(_BUDGETS[reasoning], self._max_tokens(request.settings))
        elif reasoning is not None:
            chosen["thinking"] = {"type": "adaptive", "display": "summarized"}
            output["effort"] = reasoning
        if request.output_schema is not None:
            schema = self._output_schemas(request.output_schema)
            output["format"] = {"type": "json_schema", "schema": schema}
        return {**chosen, "output_config": output} if output else chosen

    def _max_tokens(self, settings: ModelSettings) -> int:
        """The API insists on a limit."""
        if settings.max_tokens is not None:
            return settings.max_tokens
        for pattern, tokens in _MAX_TOKENS:
            if pattern.match(self._model):
                return tokens
        return _DEFAULT_MAX_TOKENS


def _as_it_is(body: dict[str, Any]) -> dict[str, Any]:
    """Hand over the body ready-made: the SDK would walk through all of the history each turn."""
    needed = {"model": body["model"], "max_tokens": body["max_tokens"], "messages": []}
    return {**needed, "extra_body": body}


def _thinking_budget(wanted: int, max_tokens: int) -> dict[str, Any]:
    """Thinking comes out of `max_tokens`, so half is left for the answer; 1024 is the least."""
    budget = min(wanted, max_tokens // 2)
    return {"thinking": {"type": "enabled", "budget_tokens": budget}} if budget >= 1024 else {}


def _output_schema(schema: dict[str, Any]) -> dict[str, Any]:
    try:
        return anthropic.transform_schema(schema)
    except ValueError as error:
        raise UsageError(f"Claude cannot be held to this output schema: {error}") from error


def _tool_choice(settings: ModelSettings) -> dict[str, Any]:
    one_call = {} if settings.parallel_tool_calls else {"disable_parallel_tool_use": True}
    match settings.tool_choice:
        case "auto":
            return {"tool_choice": {"type": "auto", **one_call}} if one_call else {}
        case "none":
            return {"tool_choice": {"type": "none"}}
        case "required":
            return {"tool_choice": {"type": "any", **one_call}}
        case name:
            return {"tool_choice": {"type": "tool", "name": name, **one_call}}


def _read(reply: dict[str, Any], name: str) -> ModelMessage:
    message = read_message(reply, name)
    if reply.get("stop_reason") != "pause_turn":
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
