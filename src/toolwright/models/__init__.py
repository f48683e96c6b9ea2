"""The `Model` protocol and its providers, one file each; a provider's SDK loads on first use."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from toolwright.models._ask import Retries
from toolwright.models._model import Delta, Model, ModelRequest, ModelSettings, OnDelta
from toolwright.models._prices import Price, set_price
from toolwright.models._resolve import resolve_model
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

if TYPE_CHECKING:
    from toolwright.models._anthropic.model import AnthropicModel
    from toolwright.models._gemini.model import GeminiModel
    from toolwright.models._openai.chat import OpenAIChatModel
    from toolwright.models._openai.responses import OpenAIModel
    from toolwright.models._pydantic_ai.model import PydanticAIModel

__all__ = [
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
