"""The body of a request to Anthropic."""

from itertools import chain
from typing import Any

from toolwright.errors import UsageError
from toolwright.messages import CALL_TOOL, ServerTool, sendable_text
from toolwright.models._anthropic.client import anthropic
from toolwright.models._anthropic.traits import traits_of
from toolwright.models._anthropic.wire import converter, known_references, to_tool
from toolwright.models._by_identity import ByIdentity
from toolwright.models._in_words import with_output_wish
from toolwright.models._model import ModelRequest, ModelSettings
from toolwright.models._server_tools import no_equivalent

__all__ = ["BodyMaker"]

_CACHE = {"type": "ephemeral"}
_LONG_CACHE = {"type": "ephemeral", "ttl": "1h"}
_BUDGETS = {"low": 2_048, "medium": 8_192, "high": 24_576}
"""Thinking tokens, for models that are told a number."""
_SERVER_TOOLS = {
    "google_search": {"type": "web_search_20250305", "name": "web_search"},
    "web_search": {"type": "web_search_20250305", "name": "web_search"},
    "url_context": {"type": "web_fetch_20250910", "name": "web_fetch"},
    "web_fetch": {"type": "web_fetch_20250910", "name": "web_fetch"},
    "code_execution": {"type": "code_execution_20250825", "name": "code_execution"},
}


class BodyMaker:
    """Makes bodies for one model; messages, tools and schemas are converted once."""

    def __init__(self, model: str, server: str, *, loads_tools: bool = False) -> None:
        self._model = model
        self._loads_tools = loads_tools
        self.convert = converter(server)
        self._convert_loading = converter(server, loads_tools=True)
        self._traits = traits_of(model)
        self._tools = ByIdentity(lambda specs: [to_tool(spec) for spec in specs])
        self._found = ByIdentity(
            lambda specs: [{**to_tool(spec), "defer_loading": True} for spec in specs]
        )
        self._output_schemas = ByIdentity(_output_schema)

    def make(self, request: ModelRequest) -> dict[str, Any]:
        """The whole body."""
        settings = request.settings
        body: dict[str, Any] = {
            "model": self._model,
            "max_tokens": self._max_tokens(settings),
            "messages": self._messages(request),
            **self._prefix(request),
            **self._sampling(settings),
            **self._thinking(request),
        }
        if output := self._output(request):
            body["output_config"] = output
        if settings.cache_prompt:
            body["cache_control"] = _mark(settings)  # the end of the conversation so far
        return body | settings.given

    def _messages(self, request: ModelRequest) -> list[dict[str, Any]]:
        if not self._is_loading(request):
            return list(chain.from_iterable(request.history.converted(self.convert)))
        known = {spec.name for spec in request.found}
        messages = chain.from_iterable(request.history.converted(self._convert_loading))
        return [known_references(message, known) for message in messages]

    def _is_loading(self, request: ModelRequest) -> bool:
        """Whether tools that are found are loaded where the conversation refers to them."""
        return self._loads_tools and bool(request.searches)

    def _max_tokens(self, settings: ModelSettings) -> int:
        return self._traits.max_tokens if settings.max_tokens is None else settings.max_tokens

    def _prefix(self, request: ModelRequest) -> dict[str, Any]:
        """Tools and instructions: what stays the same from turn to turn, with a cache mark."""
        settings = request.settings
        mark = {"cache_control": _mark(settings)} if settings.cache_prompt else {}
        prefix: dict[str, Any] = {}
        tools = [*self._tools(request.tools), *map(self._server_tool, request.server_tools)]
        if self._is_loading(request):
            tools = [tool for tool in tools if tool["name"] != CALL_TOOL]
        instructions = self._instructions(request)
        if instructions.strip():  # the API refuses blanks
            prefix["system"] = [{"type": "text", "text": instructions, **mark}]
        if tools:  # with a mark of their own, which outlasts a change of the instructions
            tools[-1] = {**tools[-1], **mark}
        if self._is_loading(request):  # no part of what the mark covers, and may have none
            tools += self._found(request.found)
        if tools:
            prefix |= {"tools": tools, **self._tool_choice(request.settings)}
        return prefix

    def _instructions(self, request: ModelRequest) -> str:
        instructions = request.instructions
        if request.output_schema is not None and not self._traits.has_output_format:
            instructions = with_output_wish(instructions, request.output_schema)
        return sendable_text(instructions)

    def _server_tool(self, tool: ServerTool) -> dict[str, Any]:
        known = _SERVER_TOOLS.get(tool.name)
        if known is None:
            raise no_equivalent(f"anthropic:{self._model}", tool, _SERVER_TOOLS)
        return {**known, **tool.settings}

    def _tool_choice(self, settings: ModelSettings) -> dict[str, Any]:
        one_call = {} if settings.parallel_tool_calls else {"disable_parallel_tool_use": True}
        choice = settings.tool_choice if self._is_forced(settings) else "auto"
        if settings.tool_choice == "none":
            return {"tool_choice": {"type": "none"}}
        if choice == "auto":
            return {"tool_choice": {"type": "auto", **one_call}} if one_call else {}
        if choice == "required":
            return {"tool_choice": {"type": "any", **one_call}}
        return {"tool_choice": {"type": "tool", "name": choice, **one_call}}

    def _is_forced(self, settings: ModelSettings) -> bool:
        return self._traits.can_be_forced and settings.tool_choice not in ("auto", "none")

    def _sampling(self, settings: ModelSettings) -> dict[str, Any]:
        chosen: dict[str, Any] = {"stop_sequences": list(settings.stop) or None}
        if self._traits.takes_sampling and settings.reasoning in (None, "none"):
            chosen |= {"temperature": settings.temperature, "top_p": settings.top_p}
        return {key: value for key, value in chosen.items() if value is not None}

    def _thinking(self, request: ModelRequest) -> dict[str, Any]:
        settings = request.settings
        if settings.reasoning is None:
            return {}
        if settings.reasoning == "none":
            off = self._traits.thinking_off
            return {} if off is None else {"thinking": off}
        if not self._traits.told_a_budget:
            return {"thinking": {"type": "adaptive", "display": "summarized"}}
        # Thinking comes out of the reply's tokens, so half is left for the answer; the API wants
        # at least 1024, and refuses to think when a tool call is demanded.
        budget = min(_BUDGETS[settings.reasoning], self._max_tokens(settings) // 2)
        if budget < 1024 or (request.tools and self._is_forced(settings)):
            return {}
        return {"thinking": {"type": "enabled", "budget_tokens": budget}}

    def _output(self, request: ModelRequest) -> dict[str, Any]:
        output: dict[str, Any] = {}
        reasoning = request.settings.reasoning
        if reasoning == "none" and self._traits.thinking_off is None:
            reasoning = "low"
        if reasoning not in (None, "none") and not self._traits.told_a_budget:
            output["effort"] = reasoning
        if request.output_schema is not None and self._traits.has_output_format:
            schema = self._output_schemas(request.output_schema)
            output["format"] = {"type": "json_schema", "schema": schema}
        return output


def _mark(settings: ModelSettings) -> dict[str, Any]:
    return _LONG_CACHE if settings.cache_prompt == "long" else _CACHE


def _output_schema(schema: dict[str, Any]) -> dict[str, Any]:
    try:
        return anthropic.transform_schema(schema)
    except ValueError as error:
        raise UsageError(f"Claude cannot be held to this output schema: {error}") from error
