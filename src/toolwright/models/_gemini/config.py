"""Everything in a Gemini request but the conversation."""

from collections.abc import Sequence
from typing import Any

from google.genai import types

from toolwright.messages import ToolSpec, sendable_text
from toolwright.models._by_identity import ByIdentity
from toolwright.models._dialects import gemini_schema
from toolwright.models._gemini.tools import Plan
from toolwright.models._gemini.traits import generation_of, thinking_config
from toolwright.models._gemini.wire import Wire, as_wire, to_declaration
from toolwright.models._in_words import with_output_wish
from toolwright.models._model import ModelRequest

__all__ = ["ConfigMaker"]

_MODES = {
    "none": types.FunctionCallingConfigMode.NONE,
    "required": types.FunctionCallingConfigMode.ANY,
}


class ConfigMaker:
    """Makes configurations for one model; tools are converted once."""

    def __init__(self, model: str, *, vertex: bool) -> None:
        self._model = model
        self._generation = generation_of(model)
        self._vertex = vertex
        self._functions = ByIdentity(_functions)
        self._output_schemas = ByIdentity(gemini_schema)

    def make(self, request: ModelRequest, plan: Plan) -> types.GenerateContentConfig:
        """The configuration of one request, its tools left out."""
        settings = request.settings
        return types.GenerateContentConfig(
            system_instruction=sendable_text(self._instructions(request, plan)) or None,
            temperature=settings.temperature,
            top_p=settings.top_p,
            max_output_tokens=settings.max_tokens,
            stop_sequences=list(settings.stop) or None,
            seed=settings.seed,
            thinking_config=thinking_config(self._model, settings.reasoning),
            tool_config=self._tool_config(request, plan),
            **self._output(request, plan),
        )

    def tools(self, request: ModelRequest, plan: Plan) -> list[Wire]:
        """The tools of one request, ready to be sent."""
        tools = [as_wire(tool) for tool in plan.native]
        if request.tools:
            tools.append(self._functions(request.tools))
        if plan.offered:
            tools.append(_functions(plan.offered))
        return tools

    def _tool_config(self, request: ModelRequest, plan: Plan) -> types.ToolConfig | None:
        choice = request.settings.tool_choice
        calling = None
        if choice in _MODES:
            calling = types.FunctionCallingConfig(mode=_MODES[choice])
        elif choice != "auto":
            mode = types.FunctionCallingConfigMode.ANY
            calling = types.FunctionCallingConfig(mode=mode, allowed_function_names=[choice])
        # Mixed with functions, the Gemini API wants to hear that we understand its tools' parts.
        mixed = True if plan.native and request.tools and not self._vertex else None
        if not request.tools or (calling is None and mixed is None):
            return None
        return types.ToolConfig(
            function_calling_config=calling, include_server_side_tool_invocations=mixed
        )

    def _output(self, request: ModelRequest, plan: Plan) -> dict[str, Any]:
        if request.output_schema is None or self._told_in_words(request, plan):
            return {}
        return {
            "response_mime_type": "application/json",
            "response_json_schema": self._output_schemas(request.output_schema),
        }

    def _told_in_words(self, request: ModelRequest, plan: Plan) -> bool:
        """Older models refuse a schema for the answer as soon as they have tools."""
        return self._generation < 3 and bool(request.tools or plan.native or plan.offered)

    def _instructions(self, request: ModelRequest, plan: Plan) -> str:
        if request.output_schema is None or not self._told_in_words(request, plan):
            return request.instructions
        return with_output_wish(request.instructions, request.output_schema)


def _functions(specs: Sequence[ToolSpec]) -> Wire:
    return as_wire(types.Tool(function_declarations=[to_declaration(spec) for spec in specs]))
