"""Find the model that a name like `openai:gpt-5-mini` stands for."""

import sys
from collections.abc import Callable
from difflib import get_close_matches
from importlib import import_module
from typing import Any

from toolwright.errors import UsageError
from toolwright.models._model import Model
from toolwright.models._openai.servers import SERVERS

__all__ = ["check_model_name", "resolve_model"]

_UNIT = "toolwright.models"


def _loaded(module: str, factory: str, **options: str) -> Callable[[Any], Model]:
    """Imports the provider's file only when one of its models is asked for."""

    def make(name: Any) -> Model:
        try:
            found = import_module(f"{_UNIT}.{module}")
        except ImportError as error:
            raise UsageError(str(error)) from error
        return getattr(found, factory)(name, **options)

    return make


def _compatible(provider: str) -> Callable[[Any], Model]:
    return _loaded("_openai.chat", "OpenAIChatModel", provider=provider)


_PROVIDERS: dict[str, Callable[[Any], Model]] = {
    "openai": _loaded("_openai.responses", "OpenAIModel"),
    "openai-responses": _loaded("_openai.responses", "OpenAIModel"),
    **{name: _compatible(name) for name in SERVERS if name != "openai"},
    "llama.cpp": _compatible("llamacpp"),
    "anthropic": _loaded("_anthropic.model", "AnthropicModel"),
    "google": _loaded("_gemini.model", "GeminiModel"),
    "gemini": _loaded("_gemini.model", "GeminiModel"),
    "vertex": _loaded("_gemini.model", "vertex_model"),
    "pydantic-ai": _loaded("_pydantic_ai.model", "PydanticAIModel"),
}
_BARE = {"gemini-": "google", "claude-": "anthropic", "gpt-": "openai"}
"""Names that say themselves whose they are."""


def resolve_model(model: str | Model) -> Model:
    """The model for `provider:name`; a model instance is returned as it is, one of pydantic-ai's is bridged.

    Raises `UsageError` for an unknown provider, a missing package or a missing API key.
    """
    if not isinstance(model, str):
        return _instance(model)
    provider, name = check_model_name(model)
    return _PROVIDERS[provider](name)


def check_model_name(model: str) -> tuple[str, str]:
    """The provider and the model's name, without loading either; `UsageError` if one is missing."""
    provider, found, name = (part.strip() for part in model.partition(":"))
    if not found:
        provider, name = _guess(model), model
    if provider not in _PROVIDERS:
        raise _unknown(provider, model)
    if not name:
        raise UsageError(f"{model!r} names no model; write it as {provider + ':name'!r}.")
    return provider, name


def _instance(model: Model) -> Model:
    pydantic_ai = sys.modules.get("pydantic_ai.models")
    if pydantic_ai is not None and isinstance(model, pydantic_ai.Model):
        return _PROVIDERS["pydantic-ai"](model)
    if isinstance(model, Model) and not isinstance(model, type):
        return model
    raise UsageError(
        f"{model!r} is no model: give a name like 'openai:gpt-5-mini', or an object with a "
        "`name` and an async `respond(request, on_delta)`."
    )


def _guess(model: str) -> str:
    for beginning, provider in _BARE.items():
        if model.startswith(beginning):
            return provider
    raise UsageError(
        f"{model!r} does not say whose model it is; write it as 'provider:name', "
        f"for example 'openai:gpt-5-mini'. Providers: {', '.join(_PROVIDERS)}."
    )


def _unknown(provider: str, model: str) -> UsageError:
    near = get_close_matches(provider, _PROVIDERS, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    return UsageError(
        f"Unknown provider {provider!r} in {model!r}.{hint} Known: {', '.join(_PROVIDERS)}. "
        f"Any pydantic-ai model works as 'pydantic-ai:{model}', and any server that speaks "
        "OpenAI's protocol as OpenAIChatModel(name, base_url=…)."
    )
