"""Servers that speak Chat Completions: where they are, and what each wants to be sent differently.

What they *answer* differently is understood from all of them alike (`chat_reply.py`), because a
habit travels with the model and the proxy as much as with the server.
"""

import os
from dataclasses import dataclass
from urllib.parse import urlsplit

from toolwright.models._keys import given_address

__all__ = ["OPENAI", "OPENAI_URL", "SERVERS", "Server", "address_of", "server_at"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """One kind of server. The defaults are what most of them take."""

    base_url: str | None = None
    """None: OpenAI itself, or what OPENAI_BASE_URL says."""
    key_variable: str = "OPENAI_API_KEY"
    url_variable: str = "OPENAI_BASE_URL"
    needs_key: bool = True
    limit: str = "max_tokens"
    """What the limit of a reply is called; OpenAI has renamed it."""
    seed: str = "seed"
    asks_for_usage: bool = True
    """A stream ends with its usage only when that is asked for; some refuse the question."""
    strict: bool = False
    """Functions may be marked as strict."""
    splits_thoughts: bool = True
    """A text that begins with `<think>` begins with reasoning."""
    demands_reasoning: str | None = None
    """The field without which a turn with calls is refused, also when another model made it."""
    short_ids: bool = False
    """An id of a call is nine letters and digits, also of one that another model made."""


def _server(name: str, base_url: str, **habits: object) -> Server:
    prefix = name.upper()
    return Server(
        base_url=base_url,
        key_variable=f"{prefix}_API_KEY",
        url_variable=f"{prefix}_BASE_URL",
        **habits,  # type: ignore[arg-type]
    )


OPENAI = Server(limit="max_completion_tokens", strict=True, splits_thoughts=False)
SERVERS = {
    "openai": OPENAI,
    "openai-chat": OPENAI,
    "openrouter": _server("openrouter", "https://openrouter.ai/api/v1"),
    "groq": _server("groq", "https://api.groq.com/openai/v1", limit="max_completion_tokens"),
    # Mistral refuses every field that it does not know, and sends the usage unasked.
    "mistral": _server(
        "mistral",
        "https://api.mistral.ai/v1",
        seed="random_seed",
        asks_for_usage=False,
        short_ids=True,
    ),
    "deepseek": _server(
        "deepseek", "https://api.deepseek.com", demands_reasoning="reasoning_content"
    ),
    "together": _server("together", "https://api.together.xyz/v1"),
    "ollama": _server("ollama", "http://localhost:11434/v1", needs_key=False),
    "vllm": _server("vllm", "http://localhost:8000/v1", needs_key=False),
    "llamacpp": _server("llamacpp", "http://localhost:8080/v1", needs_key=False),
    "lmstudio": _server("lmstudio", "http://localhost:1234/v1", needs_key=False),
}
OPENAI_URL = "https://api.openai.com/v1"
_OPENAIS = ("api.openai.com", ".api.openai.com", ".openai.azure.com")


def address_of(provider: str, base_url: str | None) -> str | None:
    """The base URL to use: what was given, else the environment's, else the preset; None is OpenAI's."""
    preset = SERVERS.get(provider, Server())
    return given_address(base_url) or os.environ.get(preset.url_variable) or preset.base_url


def server_at(provider: str, url: object) -> Server:
    """The habits of `provider` at this address: OpenAI's protocol is spoken by many who are not it."""
    if provider == "openai-chat" and not _is_openais(url):
        return Server()
    return SERVERS.get(provider, Server())


def _is_openais(url: object) -> bool:
    host = urlsplit(str(url or OPENAI_URL)).hostname or ""
    return any(host == own or (own[0] == "." and host.endswith(own)) for own in _OPENAIS)
