"""The `Model` protocol and its providers, one file each; a provider's SDK loads on first use."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from toolwright.models._keys import MODEL_KEYS
from toolwright.models._model import Delta, Model, ModelRequest, ModelSettings, OnDelta

if TYPE_CHECKING:
    from toolwright.models._anthropic.model import AnthropicModel
    from toolwright.models._ask import Retries
    from toolwright.models._gemini.model import GeminiModel
    from toolwright.models._openai.chat import OpenAIChatModel
    from toolwright.models._openai.responses import OpenAIModel
    from toolwright.models._prices import Price, set_price
    from toolwright.models._pydantic_ai.model import PydanticAIModel
    from toolwright.models._resolve import check_model_name, resolve_model
    from toolwright.models._server_tools import (
        VertexAiSearchTool,
        code_execution,
        enterprise_web_search,
        file_search,
        google_maps_grounding,
        google_search,
        image_generation,
        url_context,
        web_fetch,
        web_search,
    )

__all__ = [
    "MODEL_KEYS",
    "AnthropicModel",
    "Delta",
    "GeminiModel",
    "Model",
    "ModelRequest",
    "ModelSettings",
    "OnDelta",
    "OpenAIChatModel",
    "OpenAIModel",
    "Price",
    "PydanticAIModel",
    "Retries",
    "VertexAiSearchTool",
    "check_model_name",
    "code_execution",
    "enterprise_web_search",
    "file_search",
    "google_maps_grounding",
    "google_search",
    "image_generation",
    "resolve_model",
    "set_price",
    "url_context",
    "web_fetch",
    "web_search",
]

_LAZY = {
    "Retries": "toolwright.models._ask",
    "Price": "toolwright.models._prices",
    "set_price": "toolwright.models._prices",
    "check_model_name": "toolwright.models._resolve",
    "resolve_model": "toolwright.models._resolve",
    "VertexAiSearchTool": "toolwright.models._server_tools",
    "code_execution": "toolwright.models._server_tools",
    "enterprise_web_search": "toolwright.models._server_tools",
    "file_search": "toolwright.models._server_tools",
    "google_maps_grounding": "toolwright.models._server_tools",
    "google_search": "toolwright.models._server_tools",
    "image_generation": "toolwright.models._server_tools",
    "url_context": "toolwright.models._server_tools",
    "web_fetch": "toolwright.models._server_tools",
    "web_search": "toolwright.models._server_tools",
    "PydanticAIModel": "toolwright.models._pydantic_ai.model",
    "AnthropicModel": "toolwright.models._anthropic.model",
    "GeminiModel": "toolwright.models._gemini.model",
    "OpenAIChatModel": "toolwright.models._openai.chat",
    "OpenAIModel": "toolwright.models._openai.responses",
}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
