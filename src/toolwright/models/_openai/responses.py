"""OpenAI's models over the Responses API."""

import re
from contextlib import aclosing
from functools import partial
from itertools import chain
from typing import Any

import anyio

from toolwright._sealed import Sealed
from toolwright.messages import CALL_TOOL, ModelMessage, ServerTool, ToolSpec, sendable_text
from toolwright.models._ask import Retries, Send, ask
from toolwright.models._by_identity import ByIdentity
from toolwright.models._dialects import all_required, strict_schema
from toolwright.models._errors import ended_early, model_error, reading
from toolwright.models._model import Delta, ModelRequest, ModelSettings, OnDelta
from toolwright.models._openai.client import (
    DONE,
    AsyncOpenAI,
    as_model_errors,
    cache_settings,
    client_maker,
    get,
    post,
    post_streamed,
)
from toolwright.models._openai.responses_wire import (
    CLIENT_SEARCH,
    REASONING_GAP,
    converter,
    read_call,
    read_response,
    to_function,
    to_search,
    with_loaded,
)
from toolwright.models._openai.servers import OPENAI_URL, address_of
from toolwright.models._origin import server_named
from toolwright.models._per_loop import PerLoop
from toolwright.models._secrets import Secrets
from toolwright.models._server_tools import no_equivalent

__all__ = ["OpenAIModel"]

_PATH = "/responses"
_UNFINISHED = ("queued", "in_progress")
_FIRST_LOOK = 0.5
_LONGEST_WAIT = 10.0
"""Seconds between two looks at a response that is made in the background."""
_NO_REASONING = re.compile(r"gpt-(3|4)|chatgpt-4o|ft:gpt-(3|4)")
"""Models from before reasoning; they refuse its settings, and the others refuse sampling's."""
_LOADS_TOOLS = re.compile(r"gpt-(5\.([4-9]|\d\d)(?!-nano)|[6-9])")
"""Models that search for tools, and take those that were found in the middle of a conversation."""
_SERVER_TOOLS: dict[str, dict[str, Any]] = {
    "google_search": {"type": "web_search"},
    "web_search": {"type": "web_search"},
    "code_execution": {"type": "code_interpreter", "container": {"type": "auto"}},
    "image_generation": {"type": "image_generation"},
    "file_search": {"type": "file_search"},
}


class OpenAIModel(Sealed):
    """A model of OpenAI's, or of a server that speaks its Responses API.

    Nothing is stored at the provider: reasoning comes encrypted and is sent back with the history.
    `loads_tools` says whether the server takes tools in the middle of a conversation, as the result
    of a search; if unset, models that are known to do so at OpenAI's own address.
    """

    def __init__(
        self,
        model: str,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        client: AsyncOpenAI | None = None,
        retries: Retries | None = None,
        loads_tools: bool | None = None,
    ) -> None:
        self._model = model
        self._reasons = not _NO_REASONING.match(model)
        self._retries = retries or Retries()
        self._functions = ByIdentity(lambda specs: [to_function(spec) for spec in specs])
        self._output_formats = ByIdentity(_output_format)
        url = address_of("openai", base_url) if client is None else client.base_url
        self._address = server_named(url or OPENAI_URL)
        self._convert = converter(self._address)
        self._convert_loading = converter(self._address, loads_tools=True)
        self._found = ByIdentity(_by_name)
        self._is_own = self._address == server_named(OPENAI_URL)
        known = self._is_own and bool(_LOADS_TOOLS.match(model))
        self._loads_tools = known if loads_tools is None else loads_tools
        self._secrets = Secrets(self.name)
        if client is not None:
            self._secrets.hold_client(client)
            self._client = PerLoop(lambda: client, owned=False)
        else:
            self._client = PerLoop(
                client_maker(self.name, "openai", api_key, base_url, self._secrets)
            )

    @property
    def name(self) -> str:
        """`openai:` and the model."""
        return f"openai:{self._model}"

    async def respond(self, request: ModelRequest, on_delta: OnDelta | None = None) -> ModelMessage:
        """Answer with the next turn; see `Model.respond`."""
        body = self._body(request)
        timeout = request.settings.timeout
        search = self._search(request) or CLIENT_SEARCH

        async def send(listen: OnDelta | None) -> ModelMessage:
            if listen is None:
                return await self._whole(body, search)
            return await self._streamed(body, search, _Listener(listen, request.whole_calls))

        reply = await self._ask(send, on_delta, timeout)
        return await self._finished(reply, search, on_delta, timeout)

    async def close(self) -> None:
        """Close the connections of the running event loop; a client that was given stays open."""
        client = self._client.forget()
        if client is not None:
            await client.close()

    async def _ask(
        self, send: Send, on_delta: OnDelta | None, timeout: float | None
    ) -> ModelMessage:
        async def translated(listen: OnDelta | None) -> ModelMessage:
            with as_model_errors(self.name):
                return await send(listen)

        return await ask(
            translated,
            on_delta,
            name=self.name,
            secrets=self._secrets,
            timeout=timeout,
            retries=self._retries,
            server=self._address,
        )

    async def _finished(
        self, reply: ModelMessage, search: str, on_delta: OnDelta | None, timeout: float | None
    ) -> ModelMessage:
        """The whole of a reply that may be made in the background.

        Each look at it is a request of its own, so that a look that fails is all that is repeated.
        """
        wait, began = _FIRST_LOOK, anyio.current_time()
        while path := reply.meta.get("unfinished"):
            if timeout is not None and anyio.current_time() + wait - began > timeout:
                what = f"the response was not finished in the background within {timeout} seconds"
                url = self._client.get().base_url
                raise model_error(self.name, what, reason="timeout", status=200, url=url)
            await anyio.sleep(wait)
            wait = min(2 * wait, _LONGEST_WAIT)
            reply = await self._ask(partial(self._look, path, search), on_delta, timeout)
        return reply

    async def _look(self, path: str, search: str, listen: OnDelta | None) -> ModelMessage:
        return self._read(await get(self._client.get(), path, self.name), search)

    async def _whole(self, body: dict[str, Any], search: str) -> ModelMessage:
        return self._read(await post(self._client.get(), _PATH, body, self.name), search)

    async def _streamed(
        self, body: dict[str, Any], search: str, listener: "_Listener"
    ) -> ModelMessage:
        async with aclosing(post_streamed(self._client.get(), _PATH, body, self.name)) as events:
            async for event in events:
                if event is DONE:
                    break
                if event.get("object") == "response":  # the server does not stream
                    return self._read(event, search)
                with reading(self.name, event):
                    ended = listener.hear(event)
                if ended is not None:
                    return self._read(ended, search)
        raise ended_early(self.name, strange=listener.is_strange)

    def _read(self, response: dict[str, Any], search: str) -> ModelMessage:
        with reading(self.name, response):
            if response.get("status") in _UNFINISHED:
                path = f"{_PATH}/{response['id']}"
                return ModelMessage(parts=(), model=self.name, meta={"unfinished": path})
            return read_response(response, self.name, search)

    # -- the request --------------------------------------------------------------------------

    def _body(self, request: ModelRequest) -> dict[str, Any]:
        settings = request.settings
        body: dict[str, Any] = {
            "model": self._model,
            "input": self._input(request),
            "store": False,
            **self._tool_settings(request),
            **self._sampling(settings),
            **cache_settings(request, is_own=self._is_own),
        }
        if request.instructions:
            body["instructions"] = sendable_text(request.instructions)
        if settings.max_tokens is not None:
            body["max_output_tokens"] = settings.max_tokens
        if request.output_schema is not None:
            body["text"] = {"format": self._output_formats(request.output_schema)}
        return body | settings.given

    def _search(self, request: ModelRequest) -> str | None:
        """The tool that finds others, where it can be the API's own search; there is one of these."""
        only_one = self._loads_tools and len(request.searches) == 1
        return request.searches[0] if only_one else None

    def _input(self, request: ModelRequest) -> list[dict[str, Any]]:
        search = self._search(request)
        if search is None:
            return list(chain.from_iterable(request.history.converted(self._convert)))
        items = chain.from_iterable(request.history.converted(self._convert_loading))
        return list(with_loaded(items, search, self._found(request.found)))

    def _tool_settings(self, request: ModelRequest) -> dict[str, Any]:
        functions = self._functions(request.tools)
        if search := self._search(request):
            as_search = {
                spec.name: to_search(spec) for spec in request.tools if spec.name == search
            }
            kept = (one for one in functions if one["name"] != CALL_TOOL)
            functions = [as_search.get(one["name"], one) for one in kept]
        tools = [*functions, *map(self._server_tool, request.server_tools)]
        if not tools:
            return {}
        settings: dict[str, Any] = {"tools": tools}
        choice = request.settings.tool_choice
        if choice in ("none", "required"):
            settings["tool_choice"] = choice
        elif choice != "auto":
            settings["tool_choice"] = {"type": "function", "name": choice}
        if not request.settings.parallel_tool_calls:
            settings["parallel_tool_calls"] = False
        return settings

    def _server_tool(self, tool: ServerTool) -> dict[str, Any]:
        known = _SERVER_TOOLS.get(tool.name)
        if known is None:
            raise no_equivalent(self.name, tool, _SERVER_TOOLS)
        settings = dict(tool.settings)
        if "store_ids" in settings:
            settings["vector_store_ids"] = settings.pop("store_ids")
        return {**known, **settings}

    def _sampling(self, settings: ModelSettings) -> dict[str, Any]:
        chosen: dict[str, Any] = {}
        if self._reasons:
            chosen["include"] = ["reasoning.encrypted_content"]
            if settings.reasoning is not None:
                chosen["reasoning"] = {"effort": settings.reasoning, "summary": "auto"}
        if not self._reasons or settings.reasoning == "none":
            chosen["temperature"] = settings.temperature
            chosen["top_p"] = settings.top_p
        return {key: value for key, value in chosen.items() if value is not None}


def _by_name(specs: tuple[ToolSpec, ...]) -> dict[str, dict[str, Any]]:
    return {spec.name: {**to_function(spec), "defer_loading": True} for spec in specs}


def _output_format(schema: dict[str, Any]) -> dict[str, Any]:
    strict = strict_schema(all_required(schema))
    return {
        "type": "json_schema",
        "name": "output",
        "schema": strict or schema,
        "strict": strict is not None,
    }


class _Listener:
    """Hands on the pieces of one streamed response."""

    def __init__(self, listen: OnDelta, whole_calls: bool) -> None:
        self._listen = listen
        self._whole_calls = whole_calls
        self._calls: dict[int, int] = {}
        """Position among the output items to position among the calls."""
        self._items: list[dict[str, Any]] = []
        self.is_strange = False
        """Whether events came, and none of this protocol."""
        self._known = False
        self._thought: tuple[Any, Any] | None = None
        """The item and the part of it whose reasoning came last."""

    def hear(self, event: dict[str, Any]) -> dict[str, Any] | None:
        """Hand on what is new in `event`; the whole response when this was the last one."""
        self._known = self._known or event["type"].startswith("response.")
        self.is_strange = not self._known
        match event["type"]:
            case "response.output_text.delta" | "response.refusal.delta":
                self._listen(Delta(kind="text", text=event["delta"]))
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
                self._listen(Delta(kind="reasoning", text=self._gap(event) + event["delta"]))
            case "response.output_item.added" if event["item"]["type"] == "function_call":
                index = self._calls.setdefault(event["output_index"], len(self._calls))
                self._listen(Delta(kind="call", index=index, name=event["item"]["name"]))
            case "response.function_call_arguments.delta":
                index = self._calls.get(event["output_index"], 0)
                self._listen(Delta(kind="call", index=index, text=event["delta"]))
            case "response.output_item.done":
                self._items.append(event["item"])
                if self._whole_calls and event["item"]["type"] == "function_call":
                    index = self._calls.get(event["output_index"], 0)
                    self._listen(Delta(kind="call", index=index, call=read_call(event["item"])))
            case "response.completed" | "response.incomplete" | "response.failed":
                # Some compatible servers leave the output out of the last event.
                response = event["response"]
                return {**response, "output": response.get("output") or self._items}
        return None

    def _gap(self, event: dict[str, Any]) -> str:
        """What stands between two pieces of one item's reasoning in the message."""
        part = event.get("summary_index", event.get("content_index"))
        place = (event.get("output_index"), part)
        before, self._thought = self._thought, place
        return REASONING_GAP if before and before[0] == place[0] and before != place else ""
