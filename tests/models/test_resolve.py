"""Names of models, and what is said about a wrong one."""

import sys
from typing import Any, cast

import pytest

from toolwright.errors import UsageError
from toolwright.models import Model, ModelRequest, OnDelta, OpenAIModel, resolve_model

KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "GOOGLE_API_KEY",
        "GEMINI_API_KEY", "OPENROUTER_API_KEY", "GOOGLE_CLOUD_PROJECT")  # fmt: skip


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for key in KEYS:
        monkeypatch.delenv(key, raising=False)


@pytest.mark.parametrize(
    ("name", "resolved"),
    [
        ("openai:gpt-5-mini", "openai:gpt-5-mini"),
        ("openai-chat:gpt-4.1", "openai-chat:gpt-4.1"),
        ("anthropic:claude-sonnet-4-6", "anthropic:claude-sonnet-4-6"),
        ("google:gemini-2.5-flash", "google:gemini-2.5-flash"),
        ("gemini:gemini-2.5-flash", "google:gemini-2.5-flash"),
        ("openrouter:meta/llama:free", "openrouter:meta/llama:free"),
        (" openai : gpt-5 ", "openai:gpt-5"),
        ("gpt-5", "openai:gpt-5"),
        ("claude-opus-5", "anthropic:claude-opus-5"),
        ("gemini-2.5-flash", "google:gemini-2.5-flash"),
    ],
)
def test_a_name_gives_its_providers_model(
    name: str, resolved: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for key in KEYS[:6]:
        monkeypatch.setenv(key, "k")
    assert resolve_model(name).name == resolved


@pytest.mark.parametrize("provider", ["ollama", "vllm", "llamacpp", "lmstudio"])
def test_local_servers_need_no_key(provider: str) -> None:
    assert resolve_model(f"{provider}:qwen3:8b").name == f"{provider}:qwen3:8b"


def test_llama_cpp_has_a_second_spelling() -> None:
    assert resolve_model("llama.cpp:any").name == "llamacpp:any"


def test_an_instance_is_returned_as_it_is() -> None:
    class Own:
        name = "own:model"

        async def respond(self, request: ModelRequest, on_delta: OnDelta | None = None) -> Any: ...

    own = cast(Model, Own())
    assert resolve_model(own) is own


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("opnai:gpt-5", r"Unknown provider 'opnai'.*Did you mean 'openai'\?"),
        ("cohere:large", r"pydantic-ai:cohere:large"),
        ("llama3", r"does not say whose model it is"),
        ("openai:", r"names no model; write it as 'openai:name'"),
        ("", r"does not say whose"),
        ("openai:gpt-5", r"set the environment variable OPENAI_API_KEY"),
        ("anthropic:claude-opus-5", r"set the environment variable ANTHROPIC_API_KEY"),
        ("google:gemini-2.5-flash", r"set the environment variable GOOGLE_API_KEY"),
        ("vertex:gemini-2.5-flash", r"GOOGLE_CLOUD_PROJECT"),
        ("openrouter:any", r"OPENROUTER_API_KEY"),
    ],
)
def test_a_wrong_name_or_a_missing_key_says_what_to_do(name: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        resolve_model(name)


def test_something_that_is_no_model_is_refused() -> None:
    for wrong in (7, None, object(), OpenAIModel):
        with pytest.raises(UsageError, match="is no model"):
            resolve_model(cast(Model, wrong))


def test_a_pydantic_ai_model_is_bridged() -> None:
    from pydantic_ai.models.test import TestModel

    assert resolve_model(cast(Model, TestModel())).name == "pydantic-ai:test:test"


@pytest.mark.parametrize(
    ("name", "package", "extra"),
    [
        ("openai:gpt-5", "openai", "openai"),
        ("ollama:any", "openai", "openai"),
        ("anthropic:claude-opus-5", "anthropic", "anthropic"),
        ("google:gemini-2.5-flash", "google.genai", "google"),
        ("pydantic-ai:test", "pydantic_ai", "pydantic-ai"),
    ],
)
def test_a_missing_package_names_the_extra(
    name: str, package: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for loaded in [module for module in sys.modules if module.startswith("toolwright.models._")]:
        monkeypatch.delitem(sys.modules, loaded)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(UsageError, match=rf"pip install 'toolwright\[{extra}\]'"):
        resolve_model(name)
