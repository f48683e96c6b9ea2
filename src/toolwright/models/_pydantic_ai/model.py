"""A bridge to every model that pydantic-ai has: Bedrock, Mistral, Groq, Cohere, xAI and more."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

from toolwright._sealed import Sealed
from toolwright.errors import ModelError, UsageError
from toolwright.messages import ModelMessage, ServerTool
from toolwright.models._ask import Retries, ask
from toolwright.models._by_identity import ByIdentity
from toolwright.models._errors import model_error
from toolwright.models._in_words import with_output_wish
from toolwright.models._model import Delta, ModelRequest, ModelSettings, OnDelta
from toolwright.models._pydantic_ai.wire import (
    as_json,
    read_response,
    theirs,
    to_definition,
    to_message,
)
from toolwright.models._secrets import Secrets
from toolwright.models._server_tools import no_equivalent

try:
    from pydantic_ai import exceptions, native_tools
    from pydantic_ai.direct import model_request, model_request_stream
    from pydantic_ai.models import Model as TheirModel
    from pydantic_ai.models import ModelRequestParameters, infer_model
    from pydantic_ai.output import OutputObjectDefinition
    from pydantic_ai.settings import ModelSettings as TheirSettings
except ImportError as error:
    raise ImportError(
        "pydantic-ai models need an extra: pip install 'toolwright[pydantic-ai]'"
    ) from error

__all__ = ["PydanticAIModel"]

_SERVER_TOOLS = {
    "google_search": native_tools.WebSearchTool,
    "web_search": native_tools.WebSearchTool,
    "url_context": native_tools.WebFetchTool,
    "web_fetch": native_tools.WebFetchTool,
    "code_execution": native_tools.CodeExecutionTool,
    "image_generation": native_tools.ImageGenerationTool,
    "file_search": native_tools.FileSearchTool,
}
_REASONS = (
    (exceptions.ModelQuotaExceededError, "quota"),
    (exceptions.ModelRateLimitError, "rate_limit"),
    (exceptions.ModelUnavailableError, "overloaded"),
    (exceptions.ModelServerError, "server"),
    (exceptions.ModelConnectionError, "connection"),
)
"""What pydantic-ai has found out about an error already."""


class PydanticAIModel(Sealed):
    """A pydantic-ai model, or its name, as a model for our agents.

    pydantic-ai and its SDKs retry by themselves, so a request is sent once unless told otherwise.
    """

    def __init__(self, model: TheirModel | str, *, retries: Retries | None = None) -> None:
        self._model = _inferred(model)
        self._retries = retries or Retries(attempts=1)
        self._secrets = Secrets(self.name)
        self._secrets.hold_client(getattr(self._model, "client", None))
        self._definitions = ByIdentity(lambda specs: [to_definition(spec) for spec in specs])

    @property
    def name(self) -> str:
        """`pydantic-ai:`, the system and the model."""
        return f"pydantic-ai:{self._model.system}:{self._model.model_name}"

    async def respond(self, request: ModelRequest, on_delta: OnDelta | None = None) -> ModelMessage:
        """Answer with the next turn; see `Model.respond`."""
        asked: dict[str, Any] = {
            "model": self._model,
            "messages": request.history.converted(to_message),
            "model_settings": _settings(request.settings),
            "model_request_parameters": self._parameters(request),
        }

        async def send(listen: OnDelta | None) -> ModelMessage:
            with _as_model_errors(self.name):
                if listen is None:
                    response = await model_request(**asked)
                else:
                    response = await _streamed(asked, listen)
            return read_response(response, self.name)

        return await ask(
            send,
            on_delta,
            name=self.name,
            secrets=self._secrets,
            timeout=request.settings.timeout,
            retries=self._retries,
        )

    def _parameters(self, request: ModelRequest) -> ModelRequestParameters:
        instructions = request.instructions
        output: dict[str, Any] = {}
        if request.output_schema is not None and self._has_native_output():
            described = OutputObjectDefinition(json_schema=request.output_schema)
            output = {"output_mode": "native", "output_object": described}
        elif request.output_schema is not None:
            instructions = with_output_wish(instructions, request.output_schema)
        return ModelRequestParameters(
            function_tools=self._definitions(request.tools),
            native_tools=[self._native_tool(tool) for tool in request.server_tools],
            instruction_parts=[theirs.InstructionPart(content=instructions)]
            if instructions
            else [],
            **output,
        )

    def _has_native_output(self) -> bool:
        return bool(self._model.profile.get("supports_json_schema_output"))

    def _native_tool(self, tool: ServerTool) -> Any:
        kind = _SERVER_TOOLS.get(tool.name)
        if kind is None:
            raise no_equivalent(self.name, tool, _SERVER_TOOLS)
        settings = dict(tool.settings)
        if "store_ids" in settings:
            settings["file_store_ids"] = settings.pop("store_ids")
        return kind(**settings)


def _inferred(model: TheirModel | str) -> TheirModel:
    try:
        return infer_model(model)
    except (exceptions.UserError, ImportError, ValueError) as error:
        raise UsageError(f"pydantic-ai has no model {model!r} here: {error}") from error


def _settings(settings: ModelSettings) -> TheirSettings:
    choice = settings.tool_choice
    chosen = {
        "temperature": settings.temperature,
        "top_p": settings.top_p,
        "max_tokens": settings.max_tokens,
        "stop_sequences": list(settings.stop) or None,
        "seed": settings.seed,
        "thinking": False if settings.reasoning == "none" else settings.reasoning,
        "tool_choice": choice if choice in ("none", "required") else [choice],
        "parallel_tool_calls": None if settings.parallel_tool_calls else False,
        "cache": settings.cache_prompt,
        "extra_body": settings.given or None,
    }
    if choice == "auto":
        del chosen["tool_choice"]
    return cast(TheirSettings, {key: value for key, value in chosen.items() if value is not None})


async def _streamed(asked: dict[str, Any], listen: OnDelta) -> theirs.ModelResponse:
    calls: dict[int, int] = {}
    async with model_request_stream(**asked) as stream:
        async for event in stream:
            if isinstance(event, theirs.PartStartEvent):
                _hear_start(event, calls, listen)
            elif isinstance(event, theirs.PartDeltaEvent):
                _hear_delta(event, calls, listen)
        return stream.get()


def _hear_start(event: theirs.PartStartEvent, calls: dict[int, int], listen: OnDelta) -> None:
    part = event.part
    if isinstance(part, theirs.ToolCallPart):
        index = calls.setdefault(event.index, len(calls))
        listen(Delta(kind="call", index=index, name=part.tool_name, text=as_json(part.args)))
    elif isinstance(part, theirs.TextPart) and part.content:
        listen(Delta(kind="text", text=part.content))
    elif isinstance(part, theirs.ThinkingPart) and part.content:
        listen(Delta(kind="reasoning", text=part.content))


def _hear_delta(event: theirs.PartDeltaEvent, calls: dict[int, int], listen: OnDelta) -> None:
    delta = event.delta
    if isinstance(delta, theirs.TextPartDelta):
        listen(Delta(kind="text", text=delta.content_delta))
    elif isinstance(delta, theirs.ThinkingPartDelta) and delta.content_delta:
        listen(Delta(kind="reasoning", text=delta.content_delta))
    elif isinstance(delta, theirs.ToolCallPartDelta) and delta.args_delta:
        index = calls.get(event.index, 0)
        listen(Delta(kind="call", index=index, text=as_json(delta.args_delta)))


@contextmanager
def _as_model_errors(name: str) -> Iterator[None]:
    """Turn what pydantic-ai raises into our errors."""
    try:
        yield
    except exceptions.UserError as error:
        raise UsageError(f"{name}: {error}") from error
    except exceptions.ContentFilterError as error:
        raise model_error(name, str(error), reason="refused") from error
    except exceptions.ModelAPIError as error:
        raise _from_api_error(name, error) from error
    except exceptions.AgentRunError as error:
        raise model_error(name, str(error), reason="server") from error


def _from_api_error(name: str, error: exceptions.ModelAPIError) -> ModelError:
    wait = {} if error.retry_after is None else {"retry-after": str(error.retry_after)}
    return model_error(
        name,
        error.message,
        codes=(error.provider_error_code, error.provider_error_type),
        status=getattr(error, "status_code", None),
        reason=next((reason for kind, reason in _REASONS if isinstance(error, kind)), None),
        headers=wait,
    )
