"""Models behind the Chat Completions protocol: OpenAI's own, and every server that copies it."""

from contextlib import aclosing
from dataclasses import replace
from itertools import chain
from typing import Any

from toolwright._sealed import Sealed
from toolwright.messages import ModelMessage, sendable_text
from toolwright.models._ask import Retries, ask
from toolwright.models._by_identity import ByIdentity
from toolwright.models._dialects import all_required, strict_schema
from toolwright.models._errors import reading
from toolwright.models._model import ModelRequest, ModelSettings, OnDelta
from toolwright.models._openai.chat_reply import ChatReply
from toolwright.models._openai.chat_wire import converter, to_function
from toolwright.models._openai.client import (
    DONE,
    AsyncOpenAI,
    as_model_errors,
    cache_settings,
    client_maker,
    post,
    post_streamed,
)
from toolwright.models._openai.servers import OPENAI, OPENAI_URL, Server, address_of, server_at
from toolwright.models._origin import server_named
from toolwright.models._per_loop import PerLoop
from toolwright.models._prices import priced
from toolwright.models._secrets import Secrets
from toolwright.models._server_tools import no_equivalent

__all__ = ["OpenAIChatModel"]

_PATH = "/chat/completions"


class OpenAIChatModel(Sealed):
    """A model at any address that speaks Chat Completions.

    `provider` names a kind of server, with its address and its habits (`openai-chat`, `openrouter`,
    `groq`, `mistral`, `deepseek`, `together`, `ollama`, `vllm`, `llamacpp`, `lmstudio`); any other
    name is only what events and errors show. `openai-chat` at an address that is not OpenAI's is a
    server like any other; `openai` says that OpenAI stands behind it. `calls_in_text` takes calls
    for calls that the model wrote into its text, where the server does not.
    """

    def __init__(
        self,
        model: str,
        *,
        provider: str = "openai-chat",
        api_key: str | None = None,
        base_url: str | None = None,
        client: AsyncOpenAI | None = None,
        retries: Retries | None = None,
        calls_in_text: bool = False,
    ) -> None:
        self._model = model
        self._provider = provider
        url = address_of(provider, base_url) if client is None else client.base_url
        self._server = server_at(provider, url)
        self._price_list = _price_list(provider, self._server, url)
        self._address = server_named(url or OPENAI_URL)
        self._is_own = self._address == server_named(OPENAI_URL)
        self._calls_in_text = calls_in_text
        self._retries = retries or Retries()
        self._convert = converter(provider, self._server, self._address)
        self._functions = ByIdentity(
            lambda specs: [to_function(spec, strict=self._server.strict) for spec in specs]
        )
        self._output_formats = ByIdentity(_output_format)
        self._secrets = Secrets(self.name)
        if client is not None:
            self._secrets.hold_client(client)
            self._client = PerLoop(lambda: client, owned=False)
        else:
            self._client = PerLoop(
                client_maker(self.name, provider, api_key, base_url, self._secrets)
            )

    @property
    def name(self) -> str:
        """The provider and the model."""
        return f"{self._provider}:{self._model}"

    async def respond(self, request: ModelRequest, on_delta: OnDelta | None = None) -> ModelMessage:
        """Answer with the next turn; see `Model.respond`."""
        body = self._body(request)
        tools = frozenset(tool.name for tool in request.tools) if self._calls_in_text else None

        async def send(listen: OnDelta | None) -> ModelMessage:
            reply = ChatReply(
                self.name,
                self._provider,
                listen,
                thoughts=self._server.splits_thoughts,
                tools=tools,
            )
            with as_model_errors(self.name):
                return await (
                    self._whole(body, reply) if listen is None else self._streamed(body, reply)
                )

        return await ask(
            send,
            on_delta,
            name=self.name,
            secrets=self._secrets,
            timeout=request.settings.timeout,
            retries=self._retries,
            server=self._address,
        )

    async def close(self) -> None:
        """Close the connections of the running event loop; a client that was given stays open."""
        client = self._client.forget()
        if client is not None:
            await client.close()

    async def _whole(self, body: dict[str, Any], reply: ChatReply) -> ModelMessage:
        completion = await post(self._client.get(), _PATH, body, self.name)
        with reading(self.name, completion):
            reply.hear(completion)
            return self._priced(reply.end(done=True))

    async def _streamed(self, body: dict[str, Any], reply: ChatReply) -> ModelMessage:
        done = False
        if self._server.asks_for_usage:
            # The caller's own settings come first, as in everything else that is sent.
            body = {"stream_options": {"include_usage": True}} | body
        async with aclosing(post_streamed(self._client.get(), _PATH, body, self.name)) as chunks:
            async for chunk in chunks:
                if chunk is DONE:
                    done = True
                    break
                with reading(self.name, chunk):
                    reply.hear(chunk)
        with reading(self.name):
            return self._priced(reply.end(done=done))

    def _priced(self, message: ModelMessage) -> ModelMessage:
        """With what it cost, where the server did not say and is the one that its name stands for."""
        if message.usage.cost or self._price_list is None:
            return message
        return replace(message, usage=priced(f"{self._price_list}:{self._model}", message.usage))

    # -- the request --------------------------------------------------------------------------

    def _body(self, request: ModelRequest) -> dict[str, Any]:
        if request.server_tools:
            raise no_equivalent(self.name, request.server_tools[0], ())
        settings = request.settings
        messages = list(chain.from_iterable(request.history.converted(self._convert)))
        if request.instructions:
            instructions = sendable_text(request.instructions)
            messages.insert(0, {"role": "system", "content": instructions})
        body = {
            "model": self._model,
            "messages": messages,
            **self._tool_settings(request),
            **self._sampling(settings),
            **cache_settings(request, is_own=self._is_own),
        }
        if request.output_schema is not None:
            body["response_format"] = self._output_formats(request.output_schema)
        return body | settings.given

    def _tool_settings(self, request: ModelRequest) -> dict[str, Any]:
        if not request.tools:
            return {}
        settings: dict[str, Any] = {"tools": self._functions(request.tools)}
        choice = request.settings.tool_choice
        if choice in ("none", "required"):
            settings["tool_choice"] = choice
        elif choice != "auto":
            settings["tool_choice"] = {"type": "function", "function": {"name": choice}}
        if not request.settings.parallel_tool_calls:
            settings["parallel_tool_calls"] = False
        return settings

    def _sampling(self, settings: ModelSettings) -> dict[str, Any]:
        chosen = {
            "temperature": settings.temperature,
            "top_p": settings.top_p,
            self._server.limit: settings.max_tokens,
            "stop": list(settings.stop) or None,
            self._server.seed: settings.seed,
            "reasoning_effort": settings.reasoning,
        }
        return {key: value for key, value in chosen.items() if value is not None}


def _price_list(provider: str, server: Server, url: object) -> str | None:
    """Whose prices count at this address, if anybody's."""
    if server is OPENAI:
        return "openai"
    at_home = server.base_url is not None and str(url).rstrip("/") == server.base_url
    return provider if at_home else None


def _output_format(schema: dict[str, Any]) -> dict[str, Any]:
    strict = strict_schema(all_required(schema))
    described = {"name": "output", "schema": strict or schema, "strict": strict is not None}
    return {"type": "json_schema", "json_schema": described}
