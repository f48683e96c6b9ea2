"""What a model connects with: the variables that hold keys, and which keys and addresses can be used."""

from toolwright.errors import UsageError

__all__ = ["MODEL_KEYS", "given_address", "sendable_key"]

MODEL_KEYS = frozenset(
    {
        "ANTHROPIC_API_KEY",
        "AWS_BEARER_TOKEN_BEDROCK",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN",
        "AZURE_OPENAI_API_KEY",
        "CEREBRAS_API_KEY",
        "CO_API_KEY",
        "DEEPSEEK_API_KEY",
        "FIREWORKS_API_KEY",
        "GROK_API_KEY",
        "GROQ_API_KEY",
        "MISTRAL_API_KEY",
        "MOONSHOTAI_API_KEY",
        "OPENAI_ADMIN_KEY",
        "PERPLEXITY_API_KEY",
        "TOGETHER_API_KEY",
        "TOOLWRIGHT_CREDENTIALS_KEY",
        "TOOLWRIGHT_TOKEN",
        "XAI_API_KEY",
        "ANTHROPIC_AUTH_TOKEN",
        "GEMINI_API_KEY",
        "GOOGLE_API_KEY",
        "LLAMACPP_API_KEY",
        "LMSTUDIO_API_KEY",
        "OLLAMA_API_KEY",
        "OPENAI_API_KEY",
        "OPENROUTER_API_KEY",
        "VLLM_API_KEY",
    }
)
"""They are for the providers alone: no file may have them sent elsewhere."""


def sendable_key(provider: str, key: str | None) -> str | None:
    """`key` itself; `UsageError` for one with a character that no header may have."""
    for place, char in enumerate(key or "", start=1):
        if not "!" <= char <= "~":
            raise UsageError(
                f"The API key for {provider!r} has {char!a} (U+{ord(char):04X}) as character "
                f"{place} of {len(key or '')}, and keys have only visible ASCII: copy it again, "
                "without quotation marks, blanks and ends of lines."
            )
    return key


def given_address(base_url: str | None) -> str | None:
    """`base_url` itself; `UsageError` for an empty one, which SDKs take for their provider's own."""
    if base_url is not None and not base_url.strip():
        raise UsageError(
            f"base_url={base_url!r} is no address, and the request would go to the provider's own: "
            "give one like 'http://localhost:8000/v1', or leave base_url out."
        )
    return base_url
